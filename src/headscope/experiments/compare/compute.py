"""What fine-tuning changes: maps of two models on the same texts (Kovaleva et al. 2019, 4.3)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from headscope.errors import ModelError
from headscope.evidence import Layout, Mean, Statistic, Tally, Unit
from headscope.model import Model
from headscope.model.attention import MapWatcher, Seen


class Similarity:
    """The cosine of flattened maps, per head, averaged over texts.

    The maps of the first model wait for those of the second, one batch at a time.

    Attributes:
        first, second: the watchers of the two models.
    """

    def __init__(self, layout: Layout) -> None:
        self.mean = Mean(layout, baseline=False)
        self._before: dict[int, Tensor] = {}
        self.first, self.second = MapWatcher(self._keep), MapWatcher(self._compare)

    def _keep(self, seen: Seen, maps: Tensor) -> None:
        """Keep a layer of the first model."""
        self._before[seen.site.place] = maps.clone()

    def _compare(self, seen: Seen, maps: Tensor) -> None:
        """Compare a layer of the second model with the same of the first."""
        similar = cosine(self._before.pop(seen.site.place), maps, seen.view.queries.real)
        self.mean.add(seen, similar[..., None], similar.new_ones(len(similar), 1, 1))


def cosine(one: Tensor, other: Tensor, real: Tensor) -> Tensor:
    """(example, head) the cosine of two maps, flattened, over the rows of real tokens.

    Args:
        one, other: (example, head, query, key)
        real: (example, token)
    """
    rows = real[:, None, :].to(one.dtype)
    together, left, right = (
        (torch.linalg.vecdot(a, b) * rows).sum(-1)
        for a, b in ((one, other), (one, one), (other, other))
    )
    found: Tensor = together / (left * right).sqrt()
    return found


def similarity(tally: Tally) -> Statistic:
    """The cosine as a statistic."""
    return Statistic(
        "similarity",
        tally,
        None,
        Unit.SHARE,
        "cosine of the maps before and after, flattened, averaged over texts; 1: unchanged",
    )


def difference(before: Statistic, after: Statistic) -> Statistic:
    """After minus before, paired: both models saw the same texts."""
    sums = after.tally.sums - before.tally.sums
    zero = Tally.of(np.zeros_like(before.tally.counts), before.tally.counts)
    unit = Unit.POINTS if before.unit is Unit.SHARE else before.unit
    return Statistic(
        before.name,
        Tally.of(sums, before.tally.counts),
        zero,
        unit,
        f"after minus before: {before.about}",
        before.groups,
        before.direction,
        per_layer=before.per_layer,
    )


def check_alike(one: Model, other: Model) -> None:
    """Two models can be compared if they have the same heads and read the same pieces."""
    if (one.layers, one.heads) != (other.layers, other.heads):
        raise ModelError(
            f"{one.name} has {one.layers} layers of {one.heads} heads, {other.name} "
            f"{other.layers} of {other.heads}: there is nothing to compare head by head"
        )
    if one.tokenizer.get_vocab() != other.tokenizer.get_vocab():
        raise ModelError(
            f"{one.name} and {other.name} have different tokenizers: they would not see the same "
            "tokens"
        )
