"""Parsers with no knowledge but attention, and words (Clark et al. 2019, section 5).

Which word is the syntactic head of a word? Every other word is a candidate, and so is the root. A
probe scores a candidate by the attention between the two: from the candidate to the word and back,
each attention head with a weight of its own (*attention*), or with one that is a linear function
of the vectors of the two words (*attention and words*). The root is scored by the word's attention
to the first special token and to separators. The baseline knows the words and their distance, in a
network with one hidden layer (*words and distance*).

A weight that is linear in the two vectors is a sum of two terms, one for each, so that the vector
of a pair is never built: one product of attention with the candidates' weights, one with the
words'.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from headscope.experiments.probe.tables import (
    ATTENTION,
    ATTENTION_AND_WORDS,
    WORDS_AND_DISTANCE,
)
from headscope.experiments.probe.word_attention import WordAttentionBatch

FAR = -1e9
"""The score of what is no candidate."""
DISTANCES = 8
"""Left or right; next, next but one, up to five away, farther."""


@dataclass(frozen=True)
class ProbeDimensions:
    """Heads of all layers, the size of word vectors, the size of a hidden layer."""

    heads: int
    vector: int
    hidden: int = 128


class Probe(nn.Module, ABC):
    """Scores candidates: (sentence, word, 1 + word), the root first."""

    def __init__(self, dimensions: ProbeDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions

    def forward(
        self, attention: WordAttentionBatch, vectors: Tensor, allow_self: bool = False
    ) -> Tensor:
        """Scores of all candidates of all words (see `joint_scores`)."""
        return joint_scores([self], attention, vectors, allow_self)[0]

    @classmethod
    @abstractmethod
    def scores(
        cls, probes: Sequence[Self], attention: WordAttentionBatch, vectors: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(probe, sentence, word, candidate), and (probe, sentence, word) for the root."""


class AttentionProbe(Probe):
    """A probe that sees attention."""

    @abstractmethod
    def use(self, attention: WordAttentionBatch, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """(sentence, word, candidate, head): what each head adds to a score by attention from the
        candidate to the word, and back.
        """


def joint_scores(
    probes: Sequence[Probe], attention: WordAttentionBatch, vectors: Tensor, allow_self: bool
) -> Tensor:
    """(probe, sentence, word, 1 + word) scores of several probes of one kind at once: attention,
    which is large, is read once for all of them.

    Args:
        vectors: (sentence, word, size) static vectors of the words.
        allow_self: whether a word may be its own head, as in the control task.
    """
    words, root = type(probes[0]).scores(probes, attention, vectors)
    excluded = ~attention.real[:, None, :]
    if not allow_self:
        excluded = excluded | torch.eye(excluded.shape[-1], dtype=torch.bool)
    return torch.cat([root.unsqueeze(3), words.masked_fill(excluded, FAR)], 3)


class Attention(AttentionProbe):
    """Attention only: a weight for each head and direction."""

    def __init__(self, dimensions: ProbeDimensions) -> None:
        super().__init__(dimensions)
        self.pair = nn.Parameter(0.01 * torch.randn(dimensions.heads, 2))
        self.root = nn.Linear(2 * dimensions.heads, 1)

    @classmethod
    def scores(
        cls, probes: Sequence[Self], attention: WordAttentionBatch, vectors: Tensor
    ) -> tuple[Tensor, Tensor]:
        both = attention.words @ torch.cat([probe.pair for probe in probes], 1)  # (..., 2 * probe)
        to_word, back = both.view(*both.shape[:3], len(probes), 2).movedim(3, 0).unbind(-1)
        root = torch.stack([probe.root(attention.to_special).squeeze(-1) for probe in probes])
        return to_word.transpose(2, 3) + back, root

    def use(self, attention: WordAttentionBatch, vectors: Tensor) -> tuple[Tensor, Tensor]:
        return attention.by_key * self.pair[:, 0], attention.words * self.pair[:, 1]


class AttentionAndWords(AttentionProbe):
    """Attention and words: weights that are linear functions of the two words' vectors."""

    def __init__(self, dimensions: ProbeDimensions) -> None:
        super().__init__(dimensions)
        heads, size = dimensions.heads, dimensions.vector
        self.weights = nn.Linear(size, 4 * heads)  # of a word as query, as key; in either role
        nn.init.normal_(self.weights.weight, std=0.01 * size**-0.5)
        nn.init.zeros_(self.weights.bias)
        self.root = nn.Linear(size, 2 * heads)
        nn.init.zeros_(self.root.weight)

    @classmethod
    def scores(
        cls, probes: Sequence[Self], attention: WordAttentionBatch, vectors: Tensor
    ) -> tuple[Tensor, Tensor]:
        sentences, width, _, heads = attention.words.shape
        shape = (sentences * width, len(probes), 4, heads)
        weights = torch.cat([probe.weights(vectors) for probe in probes], -1).view(shape)
        queries, keys = weights[:, :, :2].flatten(1, 2), weights[:, :, 2:].flatten(1, 2)
        # weights on the left: the gradient is then a product along the heads, ten times as fast
        by_query = torch.bmm(queries, attention.words.view(-1, width, heads).mT)
        by_key = torch.bmm(keys, attention.by_key.view(-1, width, heads).mT)
        pairs = (sentences, width, len(probes), 2, width)
        from_query = by_query.view(pairs).permute(2, 3, 0, 1, 4)  # (probe, role, s, query, key)
        from_key = by_key.view(pairs).permute(2, 3, 0, 1, 4)  # (probe, role, s, key, query)
        from_candidate = from_query[:, 0].mT + from_key[:, 0]
        to_candidate = from_query[:, 1] + from_key[:, 1].mT
        root = torch.stack(
            [(attention.to_special * probe.root(vectors)).sum(-1) for probe in probes]
        )
        return from_candidate + to_candidate, root

    def use(self, attention: WordAttentionBatch, vectors: Tensor) -> tuple[Tensor, Tensor]:
        weights = self.weights(vectors).view(*vectors.shape[:2], 4, self.dimensions.heads)
        query, key = weights[:, :, :2], weights[:, :, 2:]
        to_word = query[:, None, :, 0] + key[:, :, None, 0]  # (sentence, word, candidate, head)
        back = query[:, :, None, 1] + key[:, None, :, 1]
        return attention.by_key * to_word, attention.words * back


class WordsAndDistance(Probe):
    """The baseline: the vectors of the two words and their distance, one hidden layer."""

    def __init__(self, dimensions: ProbeDimensions) -> None:
        super().__init__(dimensions)
        size, width = dimensions.vector, dimensions.hidden
        self.word, self.candidate = nn.Linear(size, width), nn.Linear(size, width, bias=False)
        self.distance = nn.Embedding(DISTANCES, width)
        self.no_word = nn.Parameter(torch.zeros(width))
        self.out = nn.Linear(width, 1)

    @classmethod
    def scores(
        cls, probes: Sequence[Self], attention: WordAttentionBatch, vectors: Tensor
    ) -> tuple[Tensor, Tensor]:
        words, root = zip(*(probe.own_scores(vectors) for probe in probes), strict=True)
        return torch.stack(words), torch.stack(root)

    def own_scores(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """The scores of this probe alone."""
        word = self.word(vectors)
        far = self.distance(distances(vectors.shape[1]))
        hidden = word[:, :, None] + self.candidate(vectors)[:, None] + far
        root = self.out(torch.relu(word + self.no_word))
        return self.out(torch.relu(hidden)).squeeze(-1), root.squeeze(-1)


def distances(width: int) -> Tensor:
    """(word, candidate) which of `DISTANCES` they are apart.

    >>> distances(3).tolist()
    [[0, 4, 5], [0, 0, 4], [1, 0, 0]]
    """
    place = torch.arange(width)
    offset = place[None] - place[:, None]
    far = torch.bucketize(offset.abs(), torch.tensor([2, 3, 6]), right=True)
    return far + 4 * (offset > 0)


KINDS: dict[str, type[Probe]] = {
    ATTENTION: Attention,
    ATTENTION_AND_WORDS: AttentionAndWords,
    WORDS_AND_DISTANCE: WordsAndDistance,
}
