"""From pieces to words (Clark et al. 2019, section 4.1): one map of words for every head.

Attention *to* a split word is the sum over its pieces, attention *from* it the mean over them
(or that of its first piece): rows still sum to 1. Specials are words of their own until the
largest weight is looked for, and left out there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.corpus import Pieces
from headscope.model.hooks.workspace import Workspace

if TYPE_CHECKING:
    from torch import Tensor

SHORT = 160
"""Up to so many pieces, all texts of a batch are joined into words by products at once."""


@dataclass(frozen=True)
class Units:
    """The words (and specials) of a batch, in the order of their texts.

    Attributes:
        text: (example, unit) whether the unit is a word of the text; False for specials, padding.
        to: (example, token, unit) 1 where the token is part of the unit.
        mean, first: (example, unit, token) how much of the unit's attention is the token's.
    """

    text: Tensor
    to: Tensor
    mean: Tensor
    first: Tensor

    @cached_property
    def split(self) -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """Per text: the piece that begins each unit; the unit of each piece; the pieces that
        continue a unit, and which.
        """
        found = []
        for part in self.to.bool():
            inside = part.any(1)
            owner = part[inside].byte().argmax(1)
            first = torch.ones_like(owner, dtype=torch.bool)
            first[1:] = owner[1:] != owner[:-1]
            more = (~first).nonzero()[:, 0]
            found.append((first.nonzero()[:, 0], owner, more, owner[more]))
        return found

    @cached_property
    def others(self) -> Tensor:
        """(example, unit, unit) whether both are words of the text, and not the same one."""
        both = self.text[:, :, None] & self.text[:, None, :]
        return both & ~torch.eye(both.shape[-1], dtype=torch.bool, device=both.device)

    def apart(self, example: Tensor, distance: Tensor) -> Tensor:
        """(pair,) how many pairs of different words of a text are so far apart (key - query)."""
        size = self.text.shape[1]
        spread = torch.nn.functional.pad(self.text.float(), (size, size))
        there = spread.unfold(1, size, 1)[example, distance + size]  # (pair, query) is there a key?
        alike: Tensor = (there * self.text[example]).sum(1) * (distance != 0)
        return alike


def units_of(pieces: tuple[Pieces, ...], length: int, device: torch.device) -> Units:
    """The units of padded examples."""
    owner = torch.full((len(pieces), length), -1)
    for row, one in enumerate(pieces):
        owner[row, : len(one)] = torch.from_numpy(one.unit)
    size = int(owner.max()) + 1
    to = (owner[:, :, None] == torch.arange(size)).float()  # (example, token, unit)
    text = torch.zeros(len(pieces), size, dtype=torch.bool)
    for row, one in enumerate(pieces):
        text[row, torch.from_numpy(one.unit[one.word >= 0])] = True
    mean = to / to.sum(1, keepdim=True).clamp_min(1)
    begins = to.cumsum(1).eq(1) & to.bool()
    made = (text, to, mean.mT.contiguous(), begins.float().mT.contiguous())
    return Units(*(part.to(device) for part in made))


def dense(weights: Tensor, units: Units, space: Workspace, how: str, rows: Tensor) -> None:
    """Fill `rows` (example, unit, head, unit) by two products with the units' tables."""
    examples, heads, length, _ = weights.shape
    size = rows.shape[-1]
    to = space.take("to words", (examples, heads * length, size), weights)
    torch.bmm(weights.reshape(examples, heads * length, length), units.to, out=to)
    by_query = space.take("by query", (examples, length, heads, size), weights)
    by_query.copy_(to.view(examples, heads, length, size).transpose(1, 2))
    torch.bmm(getattr(units, how), by_query.flatten(2), out=rows.flatten(2))


def one_by_one(weights: Tensor, units: Units, _space: Workspace, how: str, rows: Tensor) -> None:
    """The same text by text, adding only the pieces that continue a word.

    The products of `dense` grow with the cube of the length; few pieces continue a word.
    """
    rows.zero_()
    for place, (begins, owner, more, whose) in enumerate(units.split):
        size = len(begins)
        to = weights[place].index_select(2, begins)  # (head, query, unit)
        to.index_add_(2, whose, weights[place].index_select(2, more))
        by_query = to.transpose(0, 1)
        made = by_query.index_select(0, begins)
        if how == "mean":
            made.index_add_(0, whose, by_query.index_select(0, more))
            made /= torch.bincount(owner)[:, None, None]
        rows[place, :size, :, :size] = made


class WordAttention:
    """The attention of one layer between words.

    Attributes:
        weights: (example, head, unit, unit); rows of units sum to 1.
    """

    def __init__(self, weights: Tensor, units: Units, space: Workspace, how: str = "mean") -> None:
        examples, heads, length, _ = weights.shape
        size = units.text.shape[1]
        rows = space.take(f"words {how}", (examples, size, heads, size), weights)
        join = dense if length <= SHORT else one_by_one
        join(weights, units, space, how, rows)
        # (example, unit, head, unit): one product an example serves all its heads
        self._stored = rows
        self.weights = self._stored.transpose(1, 2)
        self.units, self._space = units, space

    @cached_property
    def _wide(self) -> Tensor:
        """(example, head, unit * (2 * unit + 1)) weights between different words of the text.

        Each row is followed by as many zeros, and the last by one more for each: see `diagonals`.
        """
        examples, size, heads, _ = self._stored.shape
        shape = (examples, heads, size * (2 * size + 1))
        wide = self._space.take_clean("wide", shape, self._stored)
        torch.mul(self.weights, self.units.others.unsqueeze(1), out=rows_of(wide, size))
        return wide

    @cached_property
    def row(self) -> Tensor:
        """(example, head, unit) whom each word looks at most; -1 where at no other word."""
        weight, place = rows_of(self._wide, self._stored.shape[1]).max(3)
        return place.masked_fill_(weight == 0, -1)

    @cached_property
    def column(self) -> Tensor:
        """(example, head, unit) who looks most at each word; -1 where no other word does."""
        weight, place = rows_of(self._wide, self._stored.shape[1]).max(2)
        return place.masked_fill_(weight == 0, -1)

    @cached_property
    def diagonals(self) -> Tensor:
        """(example, head, 2 * unit + 1) weights between two words, summed by their distance.

        The distance d (key minus query) stands at place d, a negative one from the end. One more
        column than each row is long moves every row by one, so that diagonals stand upright.
        """
        size = self._stored.shape[1]
        return self._wide.view(*self._wide.shape[:2], size, 2 * size + 1).sum(2)


def rows_of(wide: Tensor, size: int) -> Tensor:
    """(example, head, unit, unit) the maps inside their wide memory."""
    return wide[..., : 2 * size * size].view(*wide.shape[:2], size, 2 * size)[..., :size]
