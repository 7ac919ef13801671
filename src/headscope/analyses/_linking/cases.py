"""The questions that links ask of a batch, and what the choices of heads score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headscope._util.tensors import torch
from headscope.analyses._linking.chance import Rates, from_sources, from_targets
from headscope.analyses._linking.questions import Questions
from headscope.model import Batch

if TYPE_CHECKING:
    from torch import Tensor

DIRECTIONS = ("row", "column", "head-row")
"""Whom the source looks at; who looks at the source; whom the target looks at (Voita's)."""


@dataclass(frozen=True)
class Cases:
    """The questions of a batch, those of every direction one after the other.

    Attributes:
        example, query: (case,)
        label: (case,) direction and label in one number.
        gold: (case, unit + 1) 1 where the word is an answer; the last place is for no word.
        chance: (case, unit + 1) how likely it would be by offsets alone.
        column: how many cases there are before those of the direction `column`, and with them.
    """

    example: Tensor
    query: Tensor
    label: Tensor
    gold: Tensor
    chance: Tensor
    column: tuple[int, int]

    @classmethod
    def of(
        cls, batch: Batch, asked: tuple[Questions, Questions], rates: Rates, labels: int
    ) -> Cases:
        """All questions of all examples."""
        parts = (asked[0], asked[0], asked[1])  # by direction
        sizes = [len(part.query) for part in parts]
        units = batch.units.text.shape[1] + 1
        gold = [np.zeros((len(part.query), units), np.float32) for part in asked]
        for part, table in zip(asked, gold, strict=True):
            table[part.case, part.answer] = 1
        chance = [
            from_sources(rates, asked[0], gold[0]),
            from_targets(rates, asked[0], asked[1], gold[1]),
        ]
        chance[0][:, -1] = 0
        arrays = (
            np.concatenate([part.example for part in parts]),
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.label + place * labels for place, part in enumerate(parts)]),
            np.concatenate([gold[0], gold[0], gold[1]]),
            np.concatenate([chance[0], chance[0], chance[1]]),
        )
        example, query, label, answers, likely = (
            torch.from_numpy(array).to(batch.ids.device) for array in arrays
        )
        return cls(example, query, label, answers, likely, (sizes[0], sizes[0] + sizes[1]))

    def drawn(self, row: Tensor, column: Tensor) -> Tensor:
        """(case, head) the words that the heads choose; the place after the last for none.

        Args:
            row, column: (example, head, unit) whom each word looks at most, who looks most at it.
        """
        start, end = self.column
        chosen = row[self.example, :, self.query]
        chosen[start:end] = column[self.example[start:end], :, self.query[start:end]]
        return chosen.masked_fill_(chosen < 0, self.gold.shape[1] - 1)

    def sums(self, values: Tensor, examples: int, labels: int) -> Tensor:
        """(example, head, direction and label) from (case, head)."""
        size = len(DIRECTIONS) * labels
        total = values.new_zeros(examples * size, values.shape[1])
        total.index_add_(0, self.example * size + self.label, values)
        return total.view(examples, size, -1).transpose(1, 2)
