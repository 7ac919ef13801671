"""Tallies: sums and counts by bucket, from which values, intervals and tests all follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headscope._util.naming import SELF, stack_layers
from headscope._util.tensors import torch

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]
ALL = "all"
"""The attention of a number that is of all kinds together, as tables write it."""


@dataclass(frozen=True)
class Layout:
    """How tallies of a study are laid out: buckets of evidence, layers, heads.

    Attributes:
        counts: the number of heads of each layer, where not all layers have `heads`.
        attentions: the kind of attention of each layer, where a model has an encoder and a
            decoder.

    >>> Layout(buckets=4, layers=3, heads=2, counts=(2, 0, 1)).places
    [(0, 0), (0, 1), (2, 0)]
    """

    buckets: int
    layers: int
    heads: int
    counts: tuple[int, ...] = ()
    attentions: tuple[str, ...] = ()

    @property
    def attention(self) -> str:
        """The kind of attention of all layers; `all` if they differ."""
        kinds = set(self.attentions) or {SELF}
        return kinds.pop() if len(kinds) == 1 else ALL

    def named(self, layer: int) -> tuple[str, int]:
        """The kind of attention of a layer, and its number in its stack.

        >>> Layout(1, 3, 2, attentions=("encoder", "cross", "cross")).named(2)
        ('cross', 1)
        """
        return self._named[layer]

    def number(self, site: _Site) -> int:
        """The number under which an attention is tallied."""
        return self._named.index((str(site.kind), site.layer)) if self.attentions else site.layer

    @cached_property
    def _named(self) -> list[tuple[str, int]]:
        kinds = self.attentions or (SELF,) * self.layers
        return list(zip(kinds, stack_layers(kinds), strict=True))

    @property
    def head_counts(self) -> tuple[int, ...]:
        """The number of heads of each layer."""
        return self.counts or (self.heads,) * self.layers

    @property
    def places(self) -> list[tuple[int, int]]:
        """Layer and number of every head."""
        counted = enumerate(self.head_counts)
        return [(layer, head) for layer, heads in counted for head in range(heads)]


class Tally:
    """Sums, float64 (bucket, layer, head, group), and counts; tallies of two shards add up.

    Counts are (bucket, layer, 1, group): what is counted never depends on the head.

    Args:
        layout: of the study.
        groups: how many things are tallied side by side (offsets, roles, relations).
        heads: 1 for what is the same for all heads, such as a baseline.
        layers: 1 for what is the same for all layers too.

    >>> import torch
    >>> tally = Tally(Layout(buckets=4, layers=1, heads=2))
    >>> tally.add(0, torch.tensor([[[3.0], [1.0]]]), torch.tensor([[[2.0]]]), torch.tensor([1]))
    >>> tally.ratio()[0, :, 0].tolist()
    [1.5, 0.5]
    """

    def __init__(
        self, layout: Layout, groups: int = 1, heads: int | None = None, layers: int | None = None
    ) -> None:
        size = (layout.buckets, layers or layout.layers, heads or layout.heads, groups)
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
        if (missing := self._sums.shape[2] - sums.shape[1]) > 0:  # this layer has fewer heads
            sums = torch.nn.functional.pad(sums, (0, 0, 0, missing))
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
        cls, values: Floats, weights: Floats, buckets: Sequence[int], layout: Layout
    ) -> Tally:
        """From numbers per case.

        Args:
            values: (case, head) of all layers' heads; weights: (case, 1), what they are divided by.
            buckets: of the cases.
        """
        sums = np.zeros((layout.buckets, layout.layers * layout.heads))
        counts = np.zeros((layout.buckets, 1))
        np.add.at(sums, buckets, values)
        np.add.at(counts, buckets, weights)
        size = (layout.buckets, layout.layers)
        repeated = np.broadcast_to(counts[:, :, None, None], (*size, 1, 1))
        return cls.of(sums.reshape(*size, layout.heads, 1), repeated.copy())

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


class _Site(Protocol):
    """Where a model attends."""

    @property
    def kind(self) -> str:
        """Whose queries look at whose keys."""

    @property
    def layer(self) -> int:
        """The number of its layer."""


class _View(Protocol):
    """Who looks at whom."""

    @property
    def buckets(self) -> Tensor:
        """(example,)."""

    @property
    def pieces(self) -> Sequence[object]:
        """The texts."""


class Observation(Protocol):
    """What was seen at one site of a model on one batch."""

    @property
    def site(self) -> _Site:
        """Where."""

    @property
    def view(self) -> _View:
        """Of which examples."""


class Mean:
    """A mean over observations, next to that of a head that attends to all it sees alike.

    Args:
        layout: of the study.
        groups: how many means are taken side by side.
        baseline: whether there is such a head to compare with.
        heads: 1 for one number of all heads of a layer together.

    Attributes:
        tally, baseline: sums and counts of both; without a baseline, None.
        by_text: once asked for by `keep_texts`, the layer, the texts and their own means
            (example, head, group) of everything that was added; NaN where a text counts nothing.
    """

    def __init__(
        self, layout: Layout, groups: int = 1, *, baseline: bool = True, heads: int | None = None
    ) -> None:
        self.layout = layout
        self.tally = Tally(layout, groups, heads)
        self.baseline = Tally(layout, groups, heads=1) if baseline else None
        self.by_text: list[tuple[int, Sequence[object], NDArray[np.float32]]] | None = None
        self._shown: Callable[[Any], bool] | None = None

    def keep_texts(self, shown: Callable[[Any], bool]) -> None:
        """Keep the means of texts that can be shown from now on, to choose examples by.

        Args:
            shown: whether a text can be.
        """
        self.by_text, self._shown = [], shown

    def add(
        self, seen: Observation, sums: Tensor, counts: Tensor, uniform: Tensor | None = None
    ) -> None:
        """Add what was seen at one site.

        Args:
            sums: (example, head, ...) summed over the example's observations.
            counts: (example, 1, ... or 1) how many they were.
            uniform: (example, 1, ...) the sums of the baseline.
        """
        place, buckets = self.layout.number(seen.site), seen.view.buckets
        counts = counts.flatten(2)
        self.tally.add(place, sums.flatten(2), counts, buckets)
        self._keep_texts(place, seen.view, sums.flatten(2), counts)
        if self.baseline is not None and uniform is not None:
            self.baseline.add(place, uniform.flatten(2), counts, buckets)

    def _keep_texts(self, place: int, view: _View, sums: Tensor, counts: Tensor) -> None:
        if self.by_text is None or self._shown is None:
            return
        pieces = view.pieces
        rows = [row for row, text in enumerate(pieces) if self._shown(text)]
        if not rows:
            return
        own, counted = (sums, counts) if len(rows) == len(pieces) else (sums[rows], counts[rows])
        means = (own / counted).masked_fill_(counted == 0, float("nan"))
        texts = [pieces[row] for row in rows]
        self.by_text.append((place, texts, means.float().cpu().numpy()))

    def part(self, groups: slice) -> Mean:
        """Some of the groups as a mean of their own (a view)."""
        part = Mean.__new__(Mean)
        part.layout = self.layout
        part.tally = self.tally.part(groups)
        part.baseline = None if self.baseline is None else self.baseline.part(groups)
        part.by_text, part._shown = None, None
        return part
