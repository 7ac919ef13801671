"""Tallies: sums and counts by bucket, from which values, intervals and tests all follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """The shape of a study: buckets of evidence, layers, heads."""

    buckets: int
    layers: int
    heads: int


class Tally:
    """Sums, float64 (bucket, layer, head, group), and counts; tallies of two shards add up.

    Counts are (bucket, layer, 1, group): what is counted never depends on the head.

    Args:
        shape: of the study.
        groups: how many things are tallied side by side (offsets, roles, relations).
        heads: 1 for what is the same for all heads, such as a baseline.
        layers: 1 for what is the same for all layers too.

    >>> import torch
    >>> tally = Tally(Shape(buckets=4, layers=1, heads=2))
    >>> tally.add(0, torch.tensor([[[3.0], [1.0]]]), torch.tensor([[[2.0]]]), torch.tensor([1]))
    >>> tally.ratio()[0, :, 0].tolist()
    [1.5, 0.5]
    """

    def __init__(
        self, shape: Shape, groups: int = 1, heads: int | None = None, layers: int | None = None
    ) -> None:
        size = (shape.buckets, layers or shape.layers, heads or shape.heads, groups)
        self._sums: Floats = np.zeros(size)
        self._counts: Floats = np.zeros((*size[:2], 1, groups))
        self._waiting: list[tuple[int, Tensor, Tensor]] = []
        self._buckets: Tensor | None = None

    @property
    def sums(self) -> Floats:
        """What was observed, summed: (bucket, layer, head, group)."""
        self._settle()
        return self._sums

    @property
    def counts(self) -> Floats:
        """How many observations they were: (bucket, layer, 1, group)."""
        self._settle()
        return self._counts

    def add(self, layer: int, sums: Tensor, counts: Tensor, buckets: Tensor) -> None:
        """Add what was observed in one layer. The layers of a batch are summed up together.

        Args:
            sums: (example, head, group), summed over the example's observations.
            counts: (example, 1, group or 1), how many they were.
            buckets: (example,)
        """
        follows = not self._waiting or layer == self._waiting[-1][0] + 1
        if buckets is not self._buckets or not follows:
            self._settle()
            self._buckets = buckets
        self._waiting.append((layer, sums, counts))

    def _settle(self) -> None:
        """Sum up what waits, in float64."""
        if not self._waiting or self._buckets is None:
            return
        buckets, waiting, self._waiting = self._buckets.cpu(), self._waiting, []
        layers = range(waiting[0][0], waiting[0][0] + len(waiting))
        sums = torch.stack([sums for _, sums, _ in waiting], 1).cpu().double()
        counts = torch.stack([counts for _, _, counts in waiting], 1).cpu().double()
        counts = counts.expand(*counts.shape[:3], sums.shape[-1])
        for store, values in ((self._sums, sums), (self._counts, counts)):
            part = torch.from_numpy(store)[:, layers.start : layers.stop]
            part.index_add_(0, buckets, values)

    def part(self, groups: slice) -> Tally:
        """Some of the groups as a tally of their own (a view)."""
        return Tally.of(self.sums[..., groups], self.counts[..., groups])

    def pool(self, members: Floats) -> Tally:
        """Groups put together: `members` is (group, new group), 0 or 1."""
        return Tally.of(self.sums @ members, self.counts @ members)

    @classmethod
    def of_cases(
        cls, values: Floats, weights: Floats, buckets: Sequence[int], shape: Shape
    ) -> Tally:
        """From numbers per case.

        Args:
            values: (case, head) of all layers' heads; weights: (case, 1), what they are divided by.
            buckets: of the cases.
        """
        sums = np.zeros((shape.buckets, shape.layers * shape.heads))
        counts = np.zeros((shape.buckets, 1))
        np.add.at(sums, buckets, values)
        np.add.at(counts, buckets, weights)
        many = np.broadcast_to(counts[:, :, None, None], (shape.buckets, shape.layers, 1, 1))
        return cls.of(sums.reshape(shape.buckets, shape.layers, shape.heads, 1), many.copy())

    @classmethod
    def of(cls, sums: Floats, counts: Floats) -> Tally:
        """A tally with these sums (bucket, layer, head, group) and counts (the same, head 1)."""
        tally = cls.__new__(cls)
        tally._sums, tally._counts, tally._waiting, tally._buckets = sums, counts, [], None
        return tally

    def merge(self, other: Tally) -> None:
        """Add another shard's tally to this one."""
        self._settle()
        self._sums += other.sums
        self._counts += other.counts

    def ratio(self) -> Floats:
        """(layer, head, group) sum over count, all buckets together; NaN where nothing counts."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.sums.sum(0) / self.counts.sum(0))
