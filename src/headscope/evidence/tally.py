"""Tallies: sums and counts by bucket, from which values, intervals and tests all follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """The shape of a study: buckets of evidence, layers, heads."""

    buckets: int
    layers: int
    heads: int


class Tally:
    """Sums and counts, both float64 (bucket, layer, head, group); tallies of two shards add up.

    Args:
        shape: of the study.
        groups: how many things are tallied side by side (offsets, roles, relations).
        heads: 1 for what is the same for all heads, such as a baseline.

    >>> import torch
    >>> tally = Tally(Shape(buckets=4, layers=1, heads=2))
    >>> tally.add(0, torch.tensor([[[3.0], [1.0]]]), torch.tensor([[[2.0]]]), torch.tensor([1]))
    >>> tally.ratio()[0, :, 0].tolist()
    [1.5, 0.5]
    """

    def __init__(self, shape: Shape, groups: int = 1, heads: int | None = None) -> None:
        size = (shape.buckets, shape.layers, shape.heads if heads is None else heads, groups)
        self.sums: Floats = np.zeros(size)
        self.counts: Floats = np.zeros(size)

    def add(self, layer: int, sums: Tensor, counts: Tensor, buckets: Tensor) -> None:
        """Add what was observed in one layer.

        Args:
            sums: (example, head, group), summed over the example's observations.
            counts: (example, head or 1, group or 1), how many they were.
            buckets: (example,)
        """
        for store, values in ((self.sums, sums), (self.counts, counts)):
            full = values.double().cpu().expand(sums.shape)
            torch.from_numpy(store)[:, layer].index_add_(0, buckets.cpu(), full)

    def part(self, groups: slice) -> Tally:
        """Some of the groups as a tally of their own (a view)."""
        return Tally.of(self.sums[..., groups], self.counts[..., groups])

    @classmethod
    def of(cls, sums: Floats, counts: Floats) -> Tally:
        """A tally with these sums and counts, both (bucket, layer, head, group)."""
        tally = cls.__new__(cls)
        tally.sums, tally.counts = sums, counts
        return tally

    def merge(self, other: Tally) -> None:
        """Add another shard's tally to this one."""
        self.sums += other.sums
        self.counts += other.counts

    def ratio(self) -> Floats:
        """(layer, head, group) sum over count, all buckets together; NaN where nothing counts."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.sums.sum(0) / self.counts.sum(0))
