"""Parsers with no knowledge but attention, and words (Clark et al. 2019, section 5).

Who is the head of a word? Every other word is a candidate, and the root. A probe scores a
candidate by attention between the two: from the candidate to the word and back, each head with a
weight of its own (*attention*), or with one that is a linear function of the vectors of the two
words (*attention and words*). The root is scored by the word's attention to the first special and
to separators. The baseline knows the words and their distance, in a network with one hidden layer
(*words and distance*).

A weight that is linear in the two vectors is a sum of what either gives, so that no vector of a
pair is ever made: one product of attention with the candidates' weights, one with the words'.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from headscope.experiments.probe.word_attention import Looks

FAR = -1e9
"""The score of what is no candidate."""
DISTANCES = 8
"""Left or right; next, next but one, up to five away, farther."""


@dataclass(frozen=True)
class Sizes:
    """What a probe is made for: heads of all layers, the size of vectors, of a hidden layer."""

    heads: int
    vector: int
    hidden: int = 128


class Probe(nn.Module, ABC):
    """Scores candidates: (sentence, word, 1 + word), the root first."""

    looks: ClassVar[bool] = True
    """Whether it sees attention."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes

    def forward(self, looks: Looks, vectors: Tensor, itself: bool = False) -> Tensor:
        """Scores of all candidates of all words (see `together`)."""
        return together([self], looks, vectors, itself)[0]

    @classmethod
    @abstractmethod
    def scores(cls, probes: Sequence[Self], looks: Looks, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """(probe, sentence, word, candidate), and (probe, sentence, word) for the root."""


def together(probes: Sequence[Probe], looks: Looks, vectors: Tensor, itself: bool) -> Tensor:
    """(probe, sentence, word, 1 + word) scores of several probes of one kind at once: attention,
    which is large, is read once for all of them.

    Args:
        vectors: (sentence, word, size) static vectors of the words.
        itself: whether a word may be its own head, as in the control task.
    """
    words, root = type(probes[0]).scores(probes, looks, vectors)
    off = ~looks.real[:, None, :]
    if not itself:
        off = off | torch.eye(off.shape[-1], dtype=torch.bool)
    return torch.cat([root.unsqueeze(3), words.masked_fill(off, FAR)], 3)


class Attention(Probe):
    """Attention only: a weight for each head and direction."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.pair = nn.Parameter(0.01 * torch.randn(sizes.heads, 2))
        self.root = nn.Linear(2 * sizes.heads, 1)

    @classmethod
    def scores(cls, probes: Sequence[Self], looks: Looks, vectors: Tensor) -> tuple[Tensor, Tensor]:
        both = looks.words @ torch.cat([one.pair for one in probes], 1)  # (..., 2 * probe)
        to_word, back = both.view(*both.shape[:3], len(probes), 2).movedim(3, 0).unbind(-1)
        root = torch.stack([one.root(looks.ends).squeeze(-1) for one in probes])
        return to_word.transpose(2, 3) + back, root

    def use(self, looks: Looks, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """(sentence, word, candidate, head): what each head adds to a score, by looking from the
        candidate to the word, and back.
        """
        return looks.turned * self.pair[:, 0], looks.words * self.pair[:, 1]


class AttentionAndWords(Probe):
    """Attention and words: weights that are linear functions of the two words' vectors."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        heads, size = sizes.heads, sizes.vector
        self.weights = nn.Linear(size, 4 * heads)  # of a word as query, as key; in either role
        nn.init.normal_(self.weights.weight, std=0.01 * size**-0.5)
        nn.init.zeros_(self.weights.bias)
        self.root = nn.Linear(size, 2 * heads)
        nn.init.zeros_(self.root.weight)

    @classmethod
    def scores(cls, probes: Sequence[Self], looks: Looks, vectors: Tensor) -> tuple[Tensor, Tensor]:
        many, width, _, heads = looks.words.shape
        shape = (many * width, len(probes), 4, heads)
        given = torch.cat([one.weights(vectors) for one in probes], -1).view(shape)
        queries, keys = given[:, :, :2].flatten(1, 2), given[:, :, 2:].flatten(1, 2)
        # weights on the left: the gradient is then a product along the heads, ten times as fast
        by_query = torch.bmm(queries, looks.words.view(-1, width, heads).mT)
        by_key = torch.bmm(keys, looks.turned.view(-1, width, heads).mT)
        pairs = (many, width, len(probes), 2, width)
        from_query = by_query.view(pairs).permute(2, 3, 0, 1, 4)  # (probe, role, s, query, key)
        from_key = by_key.view(pairs).permute(2, 3, 0, 1, 4)  # (probe, role, s, key, query)
        looked_at = from_query[:, 0].mT + from_key[:, 0]  # by the candidate
        looking = from_query[:, 1] + from_key[:, 1].mT  # at the candidate
        root = torch.stack([(looks.ends * one.root(vectors)).sum(-1) for one in probes])
        return looked_at + looking, root

    def use(self, looks: Looks, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """See `Attention.use`."""
        given = self.weights(vectors).view(*vectors.shape[:2], 4, self.sizes.heads)
        query, key = given[:, :, :2], given[:, :, 2:]
        to_word = query[:, None, :, 0] + key[:, :, None, 0]  # (sentence, word, candidate, head)
        back = query[:, :, None, 1] + key[:, None, :, 1]
        return looks.turned * to_word, looks.words * back


class WordsAndDistance(Probe):
    """The baseline: the vectors of the two words and their distance, one hidden layer."""

    looks: ClassVar[bool] = False

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        size, width = sizes.vector, sizes.hidden
        self.word, self.candidate = nn.Linear(size, width), nn.Linear(size, width, bias=False)
        self.distance = nn.Embedding(DISTANCES, width)
        self.no_word = nn.Parameter(torch.zeros(width))
        self.out = nn.Linear(width, 1)

    @classmethod
    def scores(cls, probes: Sequence[Self], looks: Looks, vectors: Tensor) -> tuple[Tensor, Tensor]:
        words, root = zip(*(one.own_scores(vectors) for one in probes), strict=True)
        return torch.stack(words), torch.stack(root)

    def own_scores(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """The scores of this one."""
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
    "attention": Attention,
    "attention and words": AttentionAndWords,
    "words and distance": WordsAndDistance,
}
