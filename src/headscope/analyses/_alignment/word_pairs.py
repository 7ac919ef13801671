"""Words of a text and of its translation: which pieces are whose, and which words are linked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headscope._util.tensors import torch
from headscope.corpus import Pieces
from headscope.corpus.example import SURE

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from headscope.model.attention import View

OFFSETS = range(-5, 6)
RULES = ("diagonal", *(f"{offset:+d}" for offset in OFFSETS))
"""Ways to align words by their places alone: as far into the text, or at a fixed offset."""


@dataclass(frozen=True)
class WordPairs:
    """The words of a batch of texts with their translations.

    Attributes:
        reading, saying: (example, target word, query) the part that each query has in a word: the
            query that reads a piece of it, or that says it (one before).
        members: (example, key, source word) 1 where the piece is of the word.
        there: (example, 1, 1, source word) whether it is a word that can be looked at.
        asked: (example, target word) words of the translation.
        sure, possible: (example, target word, source word) gold links; sure ones are possible too.
        annotated: (example,) whether it has gold links.
        chosen: (example, rule, target word) the source word by each of `RULES`; -1 for none.
    """

    reading: Tensor
    saying: Tensor
    members: Tensor
    there: Tensor
    asked: Tensor
    sure: Tensor
    possible: Tensor
    annotated: Tensor
    chosen: Tensor

    @classmethod
    def of(cls, view: View, how: str) -> WordPairs:
        """From who looks at whom.

        Args:
            how: a word of several pieces looks like the `mean` of them, or like the `first`.
        """
        sources, targets = view.keys.pieces, view.queries.pieces
        size = len(sources)
        rows, keys = view.queries.ids.shape[1], view.keys.ids.shape[1]
        many = max(len(text.words) for text in sources), max(len(text.words) for text in targets)
        reading = np.zeros((size, many[1], rows), dtype=np.float32)
        members = np.zeros((size, keys, many[0]), dtype=np.float32)
        sure, possible = (np.zeros((size, many[1], many[0]), dtype=np.float32) for _ in range(2))
        chosen = np.full((size, len(RULES), many[1]), -1)
        asked = np.zeros((size, many[1]), dtype=bool)
        for place, (source, target) in enumerate(zip(sources, targets, strict=True)):
            reading[place, :, : len(target)] = _parts(target, many[1], how)
            inside = np.flatnonzero(source.word >= 0)
            members[place, inside, source.word[inside]] = 1
            asked[place] = reading[place].max(-1) > 0
            for link in source.example.alignment:
                if asked[place, link.target] and members[place, :, link.source].any():
                    possible[place, link.target, link.source] = 1
                    sure[place, link.target, link.source] = float(link.label == SURE)
            chosen[place, :, : len(target.words)] = rule_choices(
                len(source.words), len(target.words)
            )
        saying = np.zeros_like(reading)
        saying[..., :-1] = reading[..., 1:]
        annotated = np.array([bool(text.example.alignment) for text in sources])

        def tensor(array: NDArray[np.generic]) -> Tensor:
            return torch.from_numpy(array).to(view.keys.ids.device)

        there = (members.max(1) > 0)[:, None, None]
        arrays = (reading, saying, members, there, asked, sure, possible, annotated, chosen)
        return cls(*(tensor(array) for array in arrays))

    def word_maps(self, maps: Tensor, *, said: bool) -> Tensor:
        """(example, head, target word, source word) attention between words.

        Args:
            maps: (example, head, query, key); said: by the queries that say a word, or read it.
        """
        rows = self.saying if said else self.reading
        return torch.einsum("btq,bhqk,bks->bhts", rows, maps, self.members)

    def choices(self, words: Tensor) -> Tensor:
        """(example, head, target word) the source word with the largest weight."""
        return words.masked_fill(~self.there, -1.0).argmax(-1)

    def hits(self, links: Tensor, choices: Tensor) -> Tensor:
        """(example, head) how many choices are linked; a choice of -1 is none."""
        found = links[:, None].expand(-1, choices.shape[1], -1, -1)
        found = found.gather(-1, choices.clamp_min(0)[..., None])[..., 0]
        return (found * (choices >= 0)).sum(-1)


def _parts(target: Pieces, words: int, how: str) -> NDArray[np.float32]:
    """(word, piece) the part of each piece in its word."""
    parts = np.zeros((words, len(target)), dtype=np.float32)
    inside = np.flatnonzero(target.word >= 0)
    parts[target.word[inside], inside] = 1
    if how == "first":
        first = parts.argmax(1)
        some = parts.any(1)
        parts = np.zeros_like(parts)
        parts[some, first[some]] = 1
    return np.asarray(parts / np.maximum(parts.sum(1, keepdims=True), 1))


def rule_choices(source: int, target: int) -> NDArray[np.int64]:
    """(rule, target word) the source word that each of `RULES` links a target word to.

    >>> rule_choices(4, 2)[[0, 1 + 5]].tolist()
    [[1, 3], [0, 1]]
    """
    words = np.arange(target)
    diagonal = ((words + 0.5) * source / max(target, 1)).astype(np.int64)
    fixed = words + np.array(OFFSETS)[:, None]
    fixed = np.where((fixed >= 0) & (fixed < source), fixed, -1)
    return np.concatenate([diagonal[None], fixed])
