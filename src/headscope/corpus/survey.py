"""What one look over a corpus tells before the model sees it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from headscope.corpus.annotation import Annotation, carried
from headscope.corpus.buckets import bucket_of
from headscope.corpus.conventions import Conventions
from headscope.corpus.frequencies import Frequencies
from headscope.corpus.pieces import Pieces

KEPT = 4096
"""Texts that are kept between the survey and the pass: a bound on memory."""


class Facts(Protocol):
    """Something that an analysis wants to know of the whole corpus before the pass."""

    def count(self, shard: list[Pieces]) -> None:
        """Look at some texts."""

    def missing(self) -> str | None:
        """Why the analysis cannot be done after all; None where it can."""


@dataclass
class Survey:
    """Sizes, annotation, word frequencies, and whatever analyses want to know beforehand.

    Attributes:
        units: buckets of evidence that are not empty.
        annotated: how many texts carry each kind of annotation.
        facts: what analyses count for themselves, by the name of the analysis.
        kept: the texts themselves where they are few, so that they need not be read again.
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
    facts: dict[str, Facts] = field(default_factory=dict)
    kept: list[list[Pieces]] | None = field(default_factory=list)

    def count(self, shard: list[Pieces]) -> None:
        """Look at some texts."""
        for pieces in shard:
            self.examples += 1
            self.pieces += len(pieces)
            self.longest = max(self.longest, len(pieces))
            self.cut += pieces.lost > 0
            self.lost += pieces.lost
            self.units.add(bucket_of(pieces.example.unit))
            self.annotated.update(carried(pieces.example))
        for facts in self.facts.values():
            facts.count(shard)
        if self.kept is not None:
            self.kept.append(shard)
            if self.examples > KEPT:
                self.kept = None
