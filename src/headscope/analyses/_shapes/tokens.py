"""The tokens of texts as the shapes of their maps need them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.model.attention import in_band

if TYPE_CHECKING:
    from torch import Tensor

NEAR = 3
"""Offsets that make a diagonal."""


@dataclass(frozen=True)
class Tokens:
    """What is known of the tokens of some texts.

    Attributes:
        real: (example, token) not padding.
        text: (example, token) tokens of the text: real and not special.
        second: (example, token) those of the second sentence of a pair.
    """

    real: Tensor
    text: Tensor
    second: Tensor

    @cached_property
    def sentences(self) -> Tensor:
        """(example, sentence, token) the tokens of each sentence, 0 or 1; two where any text is a
        pair, else one.
        """
        parts = [self.text & ~self.second, self.text & self.second] if self.paired else [self.text]
        return torch.stack(parts, 1).float()

    @cached_property
    def many(self) -> Tensor:
        """(example, sentence, 1) how many tokens each sentence has, and at least 1."""
        return self.sentences.sum(-1, keepdim=True).clamp_min(1)

    @cached_property
    def mean_sentences(self) -> Tensor:
        """(example, sentence, token) what a row counts in a mean over its sentence's rows."""
        return self.sentences / self.many

    @cached_property
    def rows(self) -> Tensor:
        """(example, 1) how many tokens the text has."""
        return self.text.sum(-1, keepdim=True).clamp_min(1).float()

    @cached_property
    def size(self) -> Tensor:
        """(example, 1, 1) how many tokens there are, specials included."""
        return self.real.sum(-1)[:, None, None].float()

    @cached_property
    def parts(self) -> Tensor:
        """(example, 1, sentence) how much of the text each sentence is."""
        return (self.sentences.sum(-1) / self.rows)[:, None]

    @cached_property
    def inside(self) -> Tensor:
        """(example, offset, 1, query) 1 where there is a token at this offset, up to `NEAR`."""
        return in_band(self.real, NEAR).mT.unsqueeze(2).float()

    @cached_property
    def outside(self) -> Tensor:
        """(example, 1, query, offset) 1 where there is none."""
        return 1 - self.inside.movedim(1, -1)

    @cached_property
    def padding(self) -> tuple[Tensor, ...]:
        """The places of what is not real: in the batch, and in its text."""
        return (~self.real).nonzero().unbind(1)

    @cached_property
    def followed(self) -> Tensor:
        """(example, 1, query) 1 where another token follows."""
        return self.real.roll(-1, 1)[:, None].float()

    @cached_property
    def is_text(self) -> Tensor:
        """(example, 1, token) 1 for tokens of the text."""
        return self.text[:, None].float()

    @cached_property
    def mean_rows(self) -> Tensor:
        """(example, token) what a row counts in a mean over the text's rows."""
        return self.text / self.rows

    @cached_property
    def paired(self) -> bool:
        """Whether any of the texts is a pair."""
        return bool(self.second.any())

    def mean(self, values: Tensor) -> Tensor:
        """(example, head) of (example, head, query), over the text's rows."""
        return torch.bmm(values, self.mean_rows.unsqueeze(-1)).squeeze(-1)

    def means(self, values: Tensor) -> Tensor:
        """The same of many at once: (example, value, head) of (example, value, head, query)."""
        means = torch.bmm(self.mean_rows.unsqueeze(1), values.flatten(1, 2).mT)
        return means.view(values.shape[:3])
