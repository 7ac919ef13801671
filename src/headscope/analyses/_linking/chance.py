"""What a choice would score if links kept their offsets but not their places.

The null that accuracy is tested against: every source's target is drawn anew, by how often the
word at each offset is the target over the whole corpus, where there is a word at that offset. A
head that looks at its neighbours scores under it what its offsets are worth, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses._linking.combinations import Ints
from headscope.analyses._linking.offsets import Offsets
from headscope.analyses._linking.questions import Questions

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Rates:
    """How often the word at an offset from a source is its target, where there is a word.

    Attributes:
        rate: (label, offset) over all links but one that has another offset; own: but one that
            has this very offset (a link must not count for itself). reach: the place of offset 0.
    """

    rate: Floats
    own: Floats
    reach: int

    @classmethod
    def of(cls, around: Offsets, labels: int) -> Rates:
        """The rates of a corpus."""
        reach = max((abs(offset) for _, offset in around.edges), default=0) + 1
        right, room = np.zeros((2, labels, 2 * reach + 1), np.float32)
        for (label, offset), count in around.gold.items():
            right[label, offset + reach] = count
        for (label, offset), count in around.edges.items():
            room[label, offset + reach] += count
        others = np.maximum(room.cumsum(1) - 1, 1)
        rate, own = right / others, (right - 1) / others
        rate[:, reach] = own[:, reach] = 0  # a word is no answer to itself
        return cls(rate, own, reach)


def from_sources(rates: Rates, asked: Questions, gold: Floats) -> Floats:
    """(question, unit) how likely each word is to be the target of a source, by its offset.

    Args:
        gold: (question, unit) 1 where it is.
    """
    place = np.arange(gold.shape[1]) - asked.query[:, None] + rates.reach
    place = np.clip(place, 0, 2 * rates.reach, out=place)
    likely: Floats = rates.rate.take(place + (asked.label * rates.rate.shape[1])[:, None])
    at = asked.case, asked.answer
    likely[at] = rates.own[asked.label[asked.case], place[at]]
    return likely


def from_targets(rates: Rates, sources: Questions, targets: Questions, gold: Floats) -> Floats:
    """(question, unit) how likely each word is to be a source of a target.

    Only words that are sources of that label can be, each as likely as its own target is this one;
    as many as there are (all items of a list have one target, and a blind choice among them hits).

    Args:
        targets: questions around targets; gold: (question, unit) of these.
    """
    case, source = _same_label(sources, targets)
    word, query = sources.query[source], targets.query[case]
    at = targets.label[case], np.clip(query - word + rates.reach, 0, 2 * rates.reach)
    rate = np.where(gold[case, word] > 0, rates.own[at], rates.rate[at])
    total = np.bincount(case, rate, len(targets.query)).astype(np.float32)[case]
    answers = gold.sum(1)[case]
    share = np.divide(answers * rate, total, out=np.zeros_like(rate), where=total > 0)
    likely = np.zeros_like(gold)
    likely[case, word] = np.minimum(share, 1)
    return likely


def _same_label(sources: Questions, targets: Questions) -> tuple[Ints, Ints]:
    """All pairs of a question around a target and a source of that label in the same text."""
    size = max(sources.label.max(initial=0), targets.label.max(initial=0)) + 1
    keys = sources.example * size + sources.label
    order = np.argsort(keys, kind="stable")
    wanted = targets.example * size + targets.label
    start, end = (np.searchsorted(keys[order], wanted, side) for side in ("left", "right"))
    count = end - start
    case = np.repeat(np.arange(len(wanted)), count)
    within = np.arange(len(case)) - np.repeat(np.cumsum(count) - count, count)
    return case, order[start[case] + within]
