"""Sentences of a treebank: words, their syntactic heads, which words are scored; baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Pieces, stable_hash

Ints = NDArray[np.int64]
ROOT, UNKNOWN = 0, -1
"""Heads are counted from 1; 0 is the root, -1 a word that the model does not see."""
PUNCTUATION = "punct"
DEVELOPMENT = 0.1
"""Share of the sentences for development, where no development part is given."""
OFFSETS = (*range(-5, 0), *range(1, 6))


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence, cut to the words that the model sees.

    Attributes:
        unit: its document.
        places: (word,) index of its words among the units of `pieces`.
        heads: (word,) see `ROOT` and `UNKNOWN`.
        scored: (word,) whether it is scored: it is no punctuation, and its head is known.
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


Gold = Callable[[ParsedSentence], Ints]
"""What a probe is to predict: (word,) heads, as in a sentence."""


def parsed_sentences(pieces: Sequence[Pieces]) -> list[ParsedSentence]:
    """The trees of examples; words that the model does not see are left out."""
    return [sentence for sentence in map(_parsed_sentence, pieces) if len(sentence) > 1]


def split_development(
    sentences: Sequence[ParsedSentence],
) -> tuple[list[ParsedSentence], list[ParsedSentence]]:
    """Training sentences and a tenth for development, whole documents by the hash of their name."""
    sizes = Counter(sentence.unit for sentence in sentences)
    order = sorted(sizes, key=lambda unit: stable_hash(f"dev {unit}"))
    wanted, taken = max(1, round(DEVELOPMENT * len(sentences))), 0
    chosen: set[str] = set()
    for unit in order[:-1]:
        if taken >= wanted:
            break
        chosen.add(unit)
        taken += sizes[unit]
    train = [sentence for sentence in sentences if sentence.unit not in chosen]
    return train, [sentence for sentence in sentences if sentence.unit in chosen]


def _parsed_sentence(pieces: Pieces) -> ParsedSentence:
    example = pieces.example
    seen = np.nonzero(pieces.place >= 0)[0]
    number = np.full(len(example.words) + 1, UNKNOWN, dtype=np.int64)
    number[seen] = np.arange(1, len(seen) + 1)
    given = np.array(example.heads, dtype=np.int64)[seen]
    heads = np.where(given >= 0, number[given], np.where(given == -1, ROOT, UNKNOWN))
    relations = tuple(example.relations[place] for place in seen)
    punctuation = np.array([name.partition(":")[0] == PUNCTUATION for name in relations], bool)
    return ParsedSentence(
        example.unit,
        tuple(example.words[place] for place in seen),
        pieces,
        pieces.place[seen],
        heads,
        relations,
        ~punctuation & (heads != UNKNOWN),
    )


def dependencies(sentence: ParsedSentence) -> Ints:
    """The syntactic heads."""
    return sentence.heads


def control(sentence: ParsedSentence) -> Ints:
    """The control task (Hewitt and Liang 2019): each word type is assigned once and for all to
    the first word, to the last, or to itself, at random.
    """
    size = len(sentence)
    own = np.arange(1, size + 1)
    behaviours = np.stack([np.ones(size, dtype=np.int64), np.full(size, size), own])
    which = [stable_hash(f"behaviour {word.lower()}") % len(behaviours) for word in sentence.words]
    return np.asarray(behaviours[which, np.arange(size)])


def right_branching(sentence: ParsedSentence) -> Ints:
    """The head is the next word, and the last word is the root."""
    heads = np.arange(2, len(sentence) + 2)
    heads[-1] = ROOT
    return heads


def at_offset(sentence: ParsedSentence, offset: int) -> Ints:
    """The head is the word at an offset; the root where there is none."""
    heads = np.arange(1, len(sentence) + 1) + offset
    return np.where((heads >= 1) & (heads <= len(sentence)), heads, ROOT)


def best_offset(train: Sequence[ParsedSentence]) -> int:
    """The one offset that finds most heads."""
    correct = {
        offset: sum(count_correct(sentence, at_offset(sentence, offset)) for sentence in train)
        for offset in OFFSETS
    }
    return int(max(correct, key=lambda offset: correct[offset]))


def best_offsets(train: Sequence[ParsedSentence]) -> dict[str, int]:
    """For each relation the offset that finds most of its heads; 0 stands for the root."""
    counts: dict[str, Counter[int]] = {}
    for sentence in train:
        for word in np.flatnonzero(sentence.scored).tolist():
            head = int(sentence.heads[word])
            offset = head - word - 1 if head != ROOT else 0
            counts.setdefault(sentence.relations[word], Counter())[offset] += 1
    return {relation: offsets.most_common(1)[0][0] for relation, offsets in counts.items()}


def by_relation(sentence: ParsedSentence, offsets: dict[str, int]) -> Ints:
    """The head at the best offset of the word's gold relation."""
    moved = np.array([offsets.get(relation, 1) for relation in sentence.relations])
    heads = np.arange(1, len(sentence) + 1) + moved
    inside = (heads >= 1) & (heads <= len(sentence)) & (moved != 0)
    return np.where(inside, heads, ROOT)


def count_correct(sentence: ParsedSentence, heads: Ints, gold: Gold = dependencies) -> int:
    """How many scored words have the right head."""
    return int((sentence.scored & (heads == gold(sentence))).sum())
