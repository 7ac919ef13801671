"""The engine: shard by shard, merged in order, kept after each; it knows nothing of models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Protocol, TypeVar

from headscope._util.interrupt import raise_if_interrupted
from headscope.evidence import Harvest
from headscope.runs.folder import RunFolder

Shard = TypeVar("Shard")


class Watch(Protocol):
    """Whoever wants to know how far the work is."""

    def skip(self, harvest: Harvest) -> None:
        """What an earlier process had done already."""


def run(
    shards: Iterable[Shard],
    work: Callable[[Shard], Harvest],
    folder: RunFolder | None = None,
    part: int = 0,
    watch: Watch | None = None,
) -> Harvest:
    """Do the shards that are not done yet and return everything merged.

    Harvests are merged one by one in the order of the shards, whoever did them and when, so that
    the sums are the same to the bit as those of one run without interruption.
    """
    done, total = folder.restore(part) if folder else (0, None)
    if watch and total is not None:
        watch.skip(total)
    total = total or Harvest()
    for shard in islice(shards, done, None):
        raise_if_interrupted()
        total.merge(work(shard))
        done += 1
        if folder:
            folder.keep(part, done, total)
    return total
