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
"""Up to this many pieces, all texts of a batch are joined into words by products at once."""


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
        splits = []
        for part in self.to.bool():
            inside = part.any(1)
            owner = part[inside].byte().argmax(1)
            first = torch.ones_like(owner, dtype=torch.bool)
            first[1:] = owner[1:] != owner[:-1]
            more = (~first).nonzero()[:, 0]
            splits.append((first.nonzero()[:, 0], owner, more, owner[more]))
        return splits

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
    for row, text_pieces in enumerate(pieces):
        owner[row, : len(text_pieces)] = torch.from_numpy(text_pieces.unit)
    size = int(owner.max()) + 1
    to = (owner[:, :, None] == torch.arange(size)).float()  # (example, token, unit)
    text = torch.zeros(len(pieces), size, dtype=torch.bool)
    for row, text_pieces in enumerate(pieces):
        text[row, torch.from_numpy(text_pieces.unit[text_pieces.word >= 0])] = True
    mean = to / to.sum(1, keepdim=True).clamp_min(1)
    begins = to.cumsum(1).eq(1) & to.bool()
    tables = (text, to, mean.mT.contiguous(), begins.float().mT.contiguous())
    return Units(*(table.to(device) for table in tables))


def join_dense(
    weights: Tensor, queries: Units, keys: Units, how: str, rows: Tensor, *, space: Workspace
) -> None:
    """Fill `rows` (example, unit, head, unit) by two products with the units' tables."""
    examples, heads, length, width = weights.shape
    size = rows.shape[-1]
    to = space.take("to words", (examples, heads * length, size), weights)
    pieces = weights.reshape(examples, heads * length, width)
    torch.bmm(pieces, keys.to.to(weights.dtype), out=to)
    by_query = space.take("by query", (examples, length, heads, size), weights)
    by_query.copy_(to.view(examples, heads, length, size).transpose(1, 2))
    shares: Tensor = getattr(queries, how)
    torch.bmm(shares.to(weights.dtype), by_query.flatten(2), out=rows.flatten(2))


def join_by_text(weights: Tensor, queries: Units, keys: Units, how: str, rows: Tensor) -> None:
    """The same text by text, adding only the pieces that continue a word.

    The products of `join_dense` grow with the cube of the length; few pieces continue a word.
    """
    rows.zero_()
    for place, (row_split, key_split) in enumerate(zip(queries.split, keys.split, strict=True)):
        begins, _, more, whose = key_split
        to = weights[place].index_select(2, begins)  # (head, query, unit)
        to.index_add_(2, whose, weights[place].index_select(2, more))
        size = len(begins)
        begins, owner, more, whose = row_split
        by_query = to.transpose(0, 1)
        joined = by_query.index_select(0, begins)
        if how == "mean":
            joined.index_add_(0, whose, by_query.index_select(0, more))
            joined /= torch.bincount(owner)[:, None, None]
        rows[place, : len(begins), :, :size] = joined


class WordAttention:
    """The attention of one layer between words.

    Attributes:
        weights: (example, head, unit, unit); rows of units sum to 1.
    """

    def __init__(
        self, weights: Tensor, queries: Units, keys: Units, space: Workspace, how: str = "mean"
    ) -> None:
        examples, heads, *lengths = weights.shape
        shape = (examples, queries.text.shape[1], heads, keys.text.shape[1])
        rows = space.take(f"words {how}", shape, weights)
        if max(lengths) <= SHORT:
            join_dense(weights, queries, keys, how, rows, space=space)
        else:
            join_by_text(weights, queries, keys, how, rows)
        # (example, unit, head, unit): one product an example serves all its heads
        self.weights = rows.transpose(1, 2)
        self.units, self._how, self._space = queries, how, space

    @cached_property
    def _wide(self) -> Tensor:
        """(example, head, unit * (2 * unit + 1)) weights between different words of the text.

        Each row is followed by as many zeros, and the last by one more for each: see `diagonals`.
        """
        examples, heads, size, _ = self.weights.shape
        shape = (examples, heads, size * (2 * size + 1))
        wide = self._space.take_clean(f"wide {self._how}", shape, self.weights)
        torch.mul(self.weights, self.units.others.unsqueeze(1), out=rows_of(wide, size))
        return wide

    @cached_property
    def row(self) -> tuple[Tensor, Tensor]:
        """The largest weight of each word on another, and on which; 0 and -1 where on none."""
        value, place = rows_of(self._wide, self.weights.shape[2]).max(3)
        return value, place.masked_fill_(value == 0, -1)

    @cached_property
    def column(self) -> tuple[Tensor, Tensor]:
        """The largest weight on each word from another, and from which; 0 and -1 for none."""
        value, place = rows_of(self._wide, self.weights.shape[2]).max(2)
        return value, place.masked_fill_(value == 0, -1)

    @cached_property
    def diagonals(self) -> Tensor:
        """(example, head, 2 * unit + 1) weights between two words, summed by their distance.

        The distance d (key minus query) stands at place d, a negative one from the end. One more
        column than each row is long moves every row by one, so that diagonals stand upright.
        """
        size = self.weights.shape[2]
        return self._wide.view(*self._wide.shape[:2], size, 2 * size + 1).sum(2)


def rows_of(wide: Tensor, size: int) -> Tensor:
    """(example, head, unit, unit) the maps inside their wide memory."""
    return wide[..., : 2 * size * size].view(*wide.shape[:2], size, 2 * size)[..., :size]
