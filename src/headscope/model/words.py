"""From pieces to words (Clark et al. 2019, section 4.1): one map of words for every head.

Attention *to* a split word is the sum over its pieces, attention *from* it the mean over them
(or that of its first piece): rows still sum to 1. Specials are words of their own until the
largest weight is looked for, and left out there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from headscope.corpus import Pieces


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
    def others(self) -> Tensor:
        """(example, unit, unit) whether both are words of the text, and not the same one."""
        both = self.text[:, :, None] & self.text[:, None, :]
        return both & ~torch.eye(both.shape[-1], dtype=torch.bool, device=both.device)


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


class WordAttention:
    """The attention of one layer between words.

    Attributes:
        weights: (example, head, unit, unit); rows of units sum to 1.
    """

    def __init__(self, weights: Tensor, units: Units, how: str = "mean") -> None:
        examples, heads, length, _ = weights.shape
        to = weights.reshape(examples, heads * length, length) @ units.to
        by_query = to.view(examples, heads, length, -1).transpose(1, 2).flatten(2)
        rows = getattr(units, how) @ by_query  # one product an example for all its heads
        # (example, unit, head, unit): largest weights of rows and columns are found fast in it
        self._stored = rows.view(examples, -1, heads, units.to.shape[-1])
        self.weights = self._stored.transpose(1, 2)
        self.units = units

    @cached_property
    def _others(self) -> Tensor:
        others: Tensor = self._stored * self.units.others.unsqueeze(2)
        return others

    @cached_property
    def row(self) -> Tensor:
        """(example, head, unit) whom each word looks at most; -1 where at no other word."""
        weight, place = self._others.max(3)
        return torch.where(weight > 0, place, -1).transpose(1, 2)

    @cached_property
    def column(self) -> Tensor:
        """(example, head, unit) who looks most at each word; -1 where no other word does."""
        weight, place = self._others.max(1)
        return torch.where(weight > 0, place, -1)

    @cached_property
    def diagonals(self) -> Tensor:
        """(example, head, 2 * unit + 1) weights between two words, summed by their distance."""
        return diagonals(self._others.transpose(1, 2))


def diagonals(maps: Tensor) -> Tensor:
    """(example, head, 2 * unit + 1) sums along the diagonals of (example, head, unit, unit).

    The distance d (key minus query) stands at place d, a negative one from the end.

    >>> diagonals(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
    [[[5.0, 2.0, 0.0, 0.0, 3.0]]]
    """
    examples, heads, units, _ = maps.shape
    wide = maps.new_zeros(examples, heads, units * (2 * units + 1))
    wide[..., : units * 2 * units].view(examples, heads, units, 2 * units)[..., :units] = maps
    # one more column than each row is long moves every row by one: diagonals stand upright
    return wide.view(examples, heads, units, 2 * units + 1).sum(2)
