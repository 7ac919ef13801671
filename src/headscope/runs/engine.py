"""The engine: shard by shard, merged in order, kept after each; it knows nothing of models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Protocol, TypeVar

from headscope._util.interrupt import raise_if_interrupted
from headscope.evidence import ShardResult
from headscope.runs.folder import RunFolder

Shard = TypeVar("Shard")


class Watch(Protocol):
    """Whoever wants to know how far the work is."""

    def skip(self, result: ShardResult) -> None:
        """Take note of the results of an earlier process."""


def run(
    shards: Iterable[Shard],
    work: Callable[[Shard], ShardResult],
    folder: RunFolder | None = None,
    part: int = 0,
    watch: Watch | None = None,
) -> ShardResult:
    """Do the shards that are not done yet and return everything merged.

    Results are merged one by one in the order of the shards, whoever computed them and when, so
    that sums equal those of an uninterrupted run to the bit.
    """
    done, total = folder.restore(part) if folder else (0, None)
    if watch and total is not None:
        watch.skip(total)
    total = total or ShardResult()
    for shard in islice(shards, done, None):
        raise_if_interrupted()
        total.merge(work(shard))
        done += 1
        if folder:
            folder.keep(part, done, total)
    return total
