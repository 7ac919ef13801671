"""The survey of a corpus before the model reads it."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from headscope.corpus.annotation import Annotation, annotation_of
from headscope.corpus.buckets import bucket_of, stable_hash
from headscope.corpus.conventions import Conventions
from headscope.corpus.frequencies import Frequencies
from headscope.corpus.pieces import Pieces

MAX_KEPT = 4096
"""Maximum number of texts that are held in memory between the survey and the pass."""


SAMPLE_TEXTS, SAMPLE_PIECES, FEWEST_TEXTS = 192, 12_288, 24
"""Maximum number of texts in a sample of a corpus, and of their pieces; long texts are at least
`FEWEST_TEXTS`."""


class CorpusFacts(Protocol):
    """What an analysis must know about the whole corpus before the pass."""

    def count(self, shard: list[Pieces]) -> None:
        """Take in the texts of a shard."""

    def missing(self) -> str | None:
        """Why the analysis cannot run on this corpus; None if it can."""


@dataclass
class Survey:
    """Sizes, annotation, word frequencies, and what analyses must know beforehand.

    Attributes:
        examples, pieces: number of texts, and of their pieces.
        longest: number of pieces of the longest text.
        cut, lost: number of truncated texts, and of the pieces that were cut off.
        units: the buckets of evidence that are not empty.
        annotated: number of texts with each kind of annotation.
        facts: what each analysis counts for itself, by the analysis's name.
        kept: the encoded shards, or None if they are too many to hold in memory.
    """

    conventions: Conventions = field(default_factory=Conventions)
    examples: int = 0
    pieces: int = 0
    longest: int = 0
    cut: int = 0
    lost: int = 0
    units: set[int] = field(default_factory=set)
    annotated: Counter[Annotation] = field(default_factory=Counter)
    frequencies: Frequencies = field(default_factory=Frequencies)
    facts: dict[str, CorpusFacts] = field(default_factory=dict)
    kept: list[list[Pieces]] | None = field(default_factory=list)
    _sample: list[tuple[int, int, Pieces]] = field(default_factory=list, repr=False)

    @property
    def sample(self) -> list[Pieces]:
        """Some texts of the whole corpus, chosen by a hash of their ids; in its order."""
        chosen: list[tuple[int, Pieces]] = []
        pieces = 0
        for _, number, text in sorted(self._sample, key=lambda one: one[:2], reverse=True):
            if pieces < SAMPLE_PIECES or len(chosen) < FEWEST_TEXTS:
                chosen.append((number, text))
                pieces += len(text)
        return [text for _, text in sorted(chosen, key=lambda one: one[0])]

    def _offer(self, text: Pieces) -> None:
        """Keep the texts whose ids have the smallest hashes."""
        entry = (-stable_hash(text.example.id), self.examples, text)
        if len(self._sample) < SAMPLE_TEXTS:
            heapq.heappush(self._sample, entry)
        elif entry[:2] > self._sample[0][:2]:
            heapq.heapreplace(self._sample, entry)

    def count(self, shard: list[Pieces], kept: list[Pieces] | None = None) -> None:
        """Take in the texts of a shard.

        Args:
            kept: what is held in memory for the pass, where a model reads more than these texts.
        """
        for pieces, whole in zip(shard, kept or shard, strict=True):
            self.examples += 1
            self._offer(whole)
            self.pieces += len(pieces)
            self.longest = max(self.longest, len(pieces))
            self.cut += pieces.lost > 0
            self.lost += pieces.lost
            self.units.add(bucket_of(pieces.example.unit))
            self.annotated.update(annotation_of(pieces.example))
        for facts in self.facts.values():
            facts.count(shard)
        if self.kept is not None:
            self.kept.append(shard if kept is None else kept)
            if self.examples > MAX_KEPT:
                self.kept = None
