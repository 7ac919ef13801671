"""Examples by score: for every number of every head, the texts that show it best, as usual, worst.

A head's value on one text is that text's score. Of each number and head a bounded store keeps the
texts with the highest and the lowest scores, and those whose ids hash lowest: a sample by which
the median is told. Equal scores are told apart by the hash, so that the choice depends on the
texts alone, and shards merge to the choice that one pass over the corpus would have made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

HIGHEST, LOWEST, SAMPLED = 2, 2, 7
"""Texts that are kept of each number and head."""
SHOWN_TYPICAL = 2
"""Texts around the median of the sample that are shown."""
SLOTS = HIGHEST + LOWEST + SAMPLED
DIGITS = 4
"""Scores that differ by less than the noise of a batch are equal."""
NOBODY = np.iinfo(np.uint64).max

Number = tuple[str, str | None, str | None]
"""A number of every head: statistic, direction, group."""


class Choice(StrEnum):
    """Why a text is shown."""

    HIGHEST = "highest"
    TYPICAL = "typical"
    LOWEST = "lowest"


@dataclass(frozen=True)
class ShownText:
    """A text with what every head does on it.

    Attributes:
        rank: a hash of its id; low ranks are sampled.
        record: data on the text, for JSON.
        drawn: int16 (head of all layers, ...), for its analysis to interpret.
    """

    id: str
    rank: int
    record: dict[str, Any]
    drawn: NDArray[np.int16]


@dataclass(frozen=True)
class Candidates:
    """Texts of a shard that could be shown for a number of every head.

    Attributes:
        scores: (text, head of all layers) the value on that text alone; NaN where it has none.
        texts: the same object for all numbers that are shown on the same texts.
    """

    statistic: str
    scores: NDArray[np.floating[Any]]
    texts: Sequence[ShownText]
    group: str | None = None
    direction: str | None = None

    @property
    def number(self) -> Number:
        """What the scores are of."""
        return self.statistic, self.direction, self.group


@dataclass(frozen=True)
class RankedExample:
    """A text that was chosen for a number of a head.

    Attributes:
        drawn: int16, what the head does on it, as in `ShownText` but flat.
    """

    choice: Choice
    score: float
    id: str
    record: dict[str, Any]
    drawn: NDArray[np.int16]


@dataclass
class _Slots:
    """What is kept of a number: (head, slot) highest, lowest, then the sample.

    Attributes:
        score: NaN where a slot is empty; rank: of the text; drawn: its place in the store.
    """

    score: NDArray[np.float32]
    rank: NDArray[np.uint64]
    drawn: NDArray[np.int64]

    def part(self, start: int, end: int) -> _Slots:
        """Some of the slots."""
        return _Slots(self.score[:, start:end], self.rank[:, start:end], self.drawn[:, start:end])

    def take(self, order: NDArray[np.int64]) -> _Slots:
        """(head, slot) slots in another order."""
        return _Slots(*(np.take_along_axis(part, order, 1) for part in self.each()))

    def each(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The arrays in the order of the fields."""
        return self.score, self.rank, self.drawn

    @classmethod
    def join(cls, parts: Sequence[_Slots]) -> _Slots:
        """Slots side by side."""
        return cls(
            *(np.concatenate(arrays, 1) for arrays in zip(*map(cls.each, parts), strict=True))
        )


class RankedExamples:
    """For every number and head the texts with the highest, sampled and lowest scores.

    >>> texts = [ShownText(f"s{i}", i, {}, np.full((1, 2), i, np.int16)) for i in range(9)]
    >>> store = RankedExamples()
    >>> store.offer([Candidates("accuracy", np.arange(9.0)[:, None], texts)])
    >>> [(str(e.choice), e.id) for e in store.examples(("accuracy", None, None), 0)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('highest', 's8'), ('highest', 's7'), ('typical', 's2'), ('typical', 's3'),
     ('lowest', 's0'), ('lowest', 's1')]
    """

    def __init__(self) -> None:
        self._slots: dict[Number, _Slots] = {}
        self._drawn: list[tuple[int, bytes]] = []  # a text's place, and what a head does on it
        self._texts: list[tuple[str, dict[str, Any]]] = []

    @property
    def numbers(self) -> list[Number]:
        """The numbers that have examples."""
        return list(self._slots)

    def offer(self, offered: Sequence[Candidates]) -> None:
        """Keep those of a shard's texts that belong here."""
        by_texts: dict[int, list[Candidates]] = {}
        for candidates in offered:
            if len(candidates.texts):
                by_texts.setdefault(id(candidates.texts), []).append(candidates)
        for same in by_texts.values():
            self.merge(_of_texts(same))

    def merge(self, other: RankedExamples) -> None:
        """Add the examples of another shard."""
        drawn, texts = len(self._drawn), len(self._texts)
        self._texts += other._texts
        self._drawn += [(text + texts, what) for text, what in other._drawn]
        for number, slots in other._slots.items():
            moved = np.where(slots.drawn >= 0, slots.drawn + drawn, -1)
            new = _Slots(slots.score, slots.rank, moved)
            own = self._slots.get(number)
            self._slots[number] = new if own is None else _merged(own, new)
        self._drop_unused()

    def examples(self, number: Number, head: int) -> Iterator[RankedExample]:
        """What was chosen for a head: highest first, then typical, then lowest; no text twice."""
        slots = self._slots.get(number)
        if slots is None:
            return
        score, rank, drawn = (part[head] for part in slots.each())
        there = np.flatnonzero(drawn >= 0)
        high = [s for s in there if s < HIGHEST]
        low = [s for s in there if HIGHEST <= s < HIGHEST + LOWEST]
        low = [s for s in low if score[s] < score[high[-1]]]
        used = {self._drawn[drawn[s]][0] for s in (*high, *low)}
        sample = [s for s in there if s >= HIGHEST + LOWEST]
        sample.sort(key=lambda s: (score[s], rank[s]))
        middle = len(sample) / 2 - 0.5
        near = sorted(sample, key=lambda s: (abs(sample.index(s) - middle), rank[s]))
        typical = [s for s in near if self._drawn[drawn[s]][0] not in used][:SHOWN_TYPICAL]
        typical.sort(key=lambda s: (score[s], rank[s]))
        for choice, chosen in zip(Choice, (high, typical, low), strict=True):
            for slot in chosen:
                text, what = self._drawn[drawn[slot]]
                name, record = self._texts[text]
                own = np.frombuffer(what, np.int16)
                yield RankedExample(choice, float(score[slot]), name, record, own)

    def arrays(self, start: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The store as arrays whose names begin with `start`, and the rest as JSON."""
        sizes = [(text, len(what) // 2) for text, what in self._drawn]
        joined = b"".join(what for _, what in self._drawn)
        arrays = {
            f"{start} {name}": np.stack([getattr(slots, name) for slots in self._slots.values()])
            for name in ("score", "rank", "drawn")
            if self._slots
        }
        arrays[f"{start} what"] = np.frombuffer(joined, np.int16)
        arrays[f"{start} sizes"] = np.array(sizes, np.int64).reshape(-1, 2)
        return arrays, {"numbers": [list(number) for number in self._slots], "texts": self._texts}

    @classmethod
    def from_arrays(
        cls, start: str, arrays: dict[str, NDArray[Any]], record: dict[str, Any]
    ) -> RankedExamples:
        """The store that was written as `arrays`."""
        store = cls()
        for place, number in enumerate(record["numbers"]):
            parts = (arrays[f"{start} {name}"][place] for name in ("score", "rank", "drawn"))
            store._slots[tuple(number)] = _Slots(*parts)
        store._texts = [(text, about) for text, about in record["texts"]]
        sizes, what = arrays[f"{start} sizes"], arrays[f"{start} what"]
        ends = sizes[:, 1].cumsum()
        store._drawn = [
            (int(text), what[end - size : end].tobytes())
            for (text, size), end in zip(sizes, ends, strict=True)
        ]
        return store

    def _drop_unused(self) -> None:
        """Forget texts, and what heads do on them, that no slot refers to."""
        if not self._slots:
            return
        used = np.unique(np.concatenate([slots.drawn.ravel() for slots in self._slots.values()]))
        used = used[used >= 0]
        for number, (score, rank, drawn) in [(n, s.each()) for n, s in self._slots.items()]:
            moved = np.where(drawn >= 0, np.searchsorted(used, drawn), -1)
            self._slots[number] = _Slots(score, rank, moved)
        kept = [self._drawn[place] for place in used]
        texts = sorted({text for text, _ in kept})
        places = {text: place for place, text in enumerate(texts)}
        self._texts = [self._texts[text] for text in texts]
        self._drawn = [(places[text], what) for text, what in kept]


def _of_texts(offered: list[Candidates]) -> RankedExamples:
    """What is kept of numbers that are shown on the same texts."""
    texts = sorted(offered[0].texts, key=lambda text: (text.rank, text.id))
    places = {id(text): place for place, text in enumerate(offered[0].texts)}
    order = [places[id(text)] for text in texts]
    ranks = np.array([text.rank for text in texts], np.uint64)
    heads = offered[0].scores.shape[1]
    store, codes = RankedExamples(), {}
    for candidates in offered:
        scores = candidates.scores[order].round(DIGITS).astype(np.float32)
        chosen = _chosen(scores)  # (slot, head) places of texts, -1 for none
        there = chosen >= 0
        score = np.where(there, np.take_along_axis(scores, np.maximum(chosen, 0), 0), np.nan)
        rank = np.where(there, ranks[chosen], np.uint64(NOBODY))
        codes[candidates.number] = np.where(there, chosen * heads + np.arange(heads), -1).T
        store._slots[candidates.number] = _Slots(score.T, rank.T, codes[candidates.number])
    used = np.unique(np.concatenate([code.ravel() for code in codes.values()]))
    used = used[used >= 0]
    for number, code in codes.items():
        slots = store._slots[number]
        slots.drawn = np.where(code >= 0, np.searchsorted(used, code), -1)
    store._texts = [(text.id, text.record) for text in texts]
    store._drawn = [
        (int(code) // heads, texts[code // heads].drawn[code % heads].tobytes()) for code in used
    ]
    store._drop_unused()
    return store


def _chosen(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """(slot, head) which of (text, head) scores to keep, texts in the order of their ranks."""
    missing = np.isnan(scores)
    chosen = np.full((SLOTS, scores.shape[1]), -1, np.int64)
    for start, count, sign in ((0, HIGHEST, 1), (HIGHEST, LOWEST, -1)):
        left = np.where(missing, -np.inf, sign * scores)
        for slot in range(start, start + min(count, len(scores))):
            best = left.argmax(0)  # of equal scores the lowest rank
            value = np.take_along_axis(left, best[None], 0)[0]
            chosen[slot] = np.where(np.isneginf(value), -1, best)
            np.put_along_axis(left, best[None], -np.inf, 0)
    nth = np.cumsum(~missing, 0) - 1
    text, head = np.nonzero(~missing & (nth < SAMPLED))
    chosen[HIGHEST + LOWEST + nth[text, head], head] = text
    return chosen


def _merged(one: _Slots, other: _Slots) -> _Slots:
    """The better of two: what a single pass over both shards would have kept."""
    parts = []
    for start, end, sign in (
        (0, HIGHEST, -1.0),
        (HIGHEST, HIGHEST + LOWEST, 1.0),
        (HIGHEST + LOWEST, SLOTS, 0.0),
    ):
        both = _Slots.join([one.part(start, end), other.part(start, end)])
        order = np.lexsort((both.rank, sign * both.score), axis=1)  # empty slots come last
        parts.append(both.take(order[:, : end - start]))
    return _Slots.join(parts)
