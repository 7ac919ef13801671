"""What fine-tuning changes: maps of two models on the same texts (Kovaleva et al. 2019, 4.3)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from headscope.errors import ModelError
from headscope.evidence import Shape, Statistic, Tally, Unit
from headscope.model import LayerAttention, Model


class Similarity:
    """The cosine of flattened maps, per head, averaged over texts.

    The maps of the first model wait for those of the second, one batch at a time.
    """

    def __init__(self, shape: Shape) -> None:
        self.tally = Tally(shape)
        self._before: list[Tensor] = []

    def first(self, attention: LayerAttention) -> None:
        """Keep a layer of the first model."""
        if attention.layer == 0:
            self._before = []
        self._before.append(attention.weights.clone())

    def second(self, attention: LayerAttention) -> None:
        """Compare a layer of the second model with the same of the first."""
        found = cosine(self._before[attention.layer], attention.weights, attention.batch.real)
        ones = found.new_ones(len(found), 1, 1)
        self.tally.add(attention.layer, found[..., None], ones, attention.batch.buckets)


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
        "similarity", tally, None, Unit.SHARE,
        "cosine of the maps before and after, flattened, averaged over texts; 1: unchanged",
    )  # fmt: skip


def difference(before: Statistic, after: Statistic) -> Statistic:
    """After minus before, paired: both models saw the same texts."""
    sums = after.tally.sums - before.tally.sums
    zero = Tally.of(np.zeros_like(before.tally.counts), before.tally.counts)
    unit = Unit.POINTS if before.unit is Unit.SHARE else before.unit
    return Statistic(
        before.name, Tally.of(sums, before.tally.counts), zero, unit,
        f"after minus before: {before.about}", before.groups, before.direction,
        per_layer=before.per_layer,
    )  # fmt: skip


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
