"""Questions about words: of which words does the annotation say that they answer?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headscope.analyses._linking.combinations import Ints, combinations
from headscope.corpus import Link, Pieces


@dataclass(frozen=True)
class Questions:
    """Questions about the words of some texts; words are units of the word-level map.

    Attributes:
        example, query, label: (question,) which text, which word, what is asked of it.
        case, answer: (answer,) to which question a word is an answer; there may be several.
    """

    example: Ints
    query: Ints
    label: Ints
    case: Ints
    answer: Ints

    @classmethod
    def of(cls, example: Ints, query: Ints, label: Ints, answer: Ints) -> Questions:
        """Questions from (link,) arrays: links of one word and label are one question."""
        table = np.stack([example, query, label])
        bound = table.max(1, initial=0) + 1
        key = (example * bound[1] + query) * bound[2] + label
        _, first, case = np.unique(key, return_index=True, return_inverse=True)
        there = answer >= 0
        answers, _ = combinations(case[there], answer[there])  # a link is said once
        unique = table[:, first]
        return cls(unique[0], unique[1], unique[2], answers[0], answers[1])


def ask(
    pieces: Sequence[Pieces], links: Sequence[Iterable[Link]], labels: dict[str, int]
) -> tuple[Questions, Questions]:
    """Around the sources of links: which targets; around the targets: which sources.

    Words without pieces, and those cut off, are not asked about and no answers. A link that leads
    nowhere (target -1, a root) is a question without an answer.
    """
    table = np.array(
        [
            (row, link.source, link.target, labels[link.label])
            for row, linked in enumerate(links)
            for link in linked
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    example, source, target, label = table.T
    start = np.cumsum([0, *(len(text.words) for text in pieces)])[example]
    place = np.concatenate([*(text.place for text in pieces), [-1]])
    nowhere = target < 0
    query, answer = place[start + source], np.where(nowhere, -1, place[start + target])
    asked = (query >= 0) & ((answer >= 0) | nowhere)
    around = asked & ~nowhere
    sources = Questions.of(example[asked], query[asked], label[asked], answer[asked])
    targets = Questions.of(example[around], answer[around], label[around], query[around])
    return sources, targets
