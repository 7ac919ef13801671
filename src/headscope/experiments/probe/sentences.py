"""Sentences of a treebank as a probe sees them: words, their syntactic heads, what is scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Pieces, stable_hash

Ints = NDArray[np.int64]
ROOT, UNKNOWN = 0, -1
"""Heads are counted from 1; 0 is the root, -1 a word that the model does not see."""
PUNCTUATION = "punct"


@dataclass(frozen=True)
class Sentence:
    """A sentence, cut to the words that the model sees.

    Attributes:
        unit: the document that it is of.
        places: (word,) where its words are among the units of `pieces`.
        heads: (word,) see `ROOT` and `UNKNOWN`.
        scored: (word,) whether it counts: no punctuation, and its head is known.
    """

    unit: str
    words: tuple[str, ...]
    pieces: Pieces
    places: Ints
    heads: Ints
    relations: tuple[str, ...]
    scored: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.words)


Gold = Callable[[Sentence], Ints]
"""What a probe is to find: (word,) heads, as in a sentence."""


def sentences(pieces: Sequence[Pieces]) -> list[Sentence]:
    """The trees of examples; words that the model does not see are left out."""
    return [made for made in map(_sentence, pieces) if len(made) > 1]


def _sentence(pieces: Pieces) -> Sentence:
    example = pieces.example
    seen = np.nonzero(pieces.place >= 0)[0]
    number = np.full(len(example.words) + 1, UNKNOWN, dtype=np.int64)
    number[seen] = np.arange(1, len(seen) + 1)
    given = np.array(example.heads, dtype=np.int64)[seen]
    heads = np.where(given >= 0, number[given], np.where(given == -1, ROOT, UNKNOWN))
    relations = tuple(example.relations[place] for place in seen)
    punctuation = np.array([one.partition(":")[0] == PUNCTUATION for one in relations], dtype=bool)
    return Sentence(
        example.unit, tuple(example.words[place] for place in seen), pieces, pieces.place[seen],
        heads, relations, ~punctuation & (heads != UNKNOWN),
    )  # fmt: skip


def dependencies(sentence: Sentence) -> Ints:
    """The syntactic heads."""
    return sentence.heads


def control(sentence: Sentence) -> Ints:
    """The control task (Hewitt and Liang 2019): each word type has for good been assigned to the
    first word, to the last, or to itself; nothing but the word tells which.
    """
    size = len(sentence)
    own = np.arange(1, size + 1)
    behaviours = np.stack([np.ones(size, dtype=np.int64), np.full(size, size), own])
    which = [stable_hash(f"behaviour {word.lower()}") % len(behaviours) for word in sentence.words]
    return np.asarray(behaviours[which, np.arange(size)])


def right_branching(sentence: Sentence) -> Ints:
    """The head is the next word, and the last word is the root."""
    found = np.arange(2, len(sentence) + 2)
    found[-1] = ROOT
    return found


def at_offset(sentence: Sentence, offset: int) -> Ints:
    """The head is the word so far away; the root where there is none."""
    found = np.arange(1, len(sentence) + 1) + offset
    return np.where((found >= 1) & (found <= len(sentence)), found, ROOT)


OFFSETS = (*range(-5, 0), *range(1, 6))


def best_offset(train: Sequence[Sentence]) -> int:
    """The one offset that finds most heads."""
    found = {offset: sum(right(one, at_offset(one, offset)) for one in train) for offset in OFFSETS}
    return int(max(found, key=lambda offset: found[offset]))


def best_offsets(train: Sequence[Sentence]) -> dict[str, int]:
    """For each relation the offset that finds most of its heads; 0 stands for the root."""
    counted: dict[str, dict[int, int]] = {}
    for one in train:
        for word, (head, relation) in enumerate(zip(one.heads, one.relations, strict=True)):
            if one.scored[word]:
                offset = int(head) - word - 1 if head != ROOT else 0
                known = counted.setdefault(relation, {})
                known[offset] = known.get(offset, 0) + 1
    return {relation: max(known, key=lambda o: known[o]) for relation, known in counted.items()}


def by_relation(sentence: Sentence, offsets: dict[str, int]) -> Ints:
    """The head at the best offset of the word's relation, which is told."""
    moved = np.array([offsets.get(relation, 1) for relation in sentence.relations])
    found = np.arange(1, len(sentence) + 1) + moved
    inside = (found >= 1) & (found <= len(sentence)) & (moved != 0)
    return np.where(inside, found, ROOT)


def right(sentence: Sentence, heads: Ints) -> int:
    """How many heads of words that count are right."""
    return int((sentence.scored & (heads == sentence.heads)).sum())
