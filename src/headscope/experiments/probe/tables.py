"""What a run of probes writes: the score of every probe and baseline."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.evidence import Table

UAS, TREE, LAS = "UAS", "UAS as trees", "LAS"
CONTROL, SELECTIVITY = "control", "selectivity"
MEASURES = (UAS, TREE, LAS, CONTROL, SELECTIVITY)
TRAINED, RANDOM_LAYERS, RANDOM, NONE = "trained", "random layers", "random", "none"
"""The weights of the model whose attention a probe sees."""
ATTENTION, ATTENTION_AND_WORDS, WORDS_AND_DISTANCE = (
    "attention",
    "attention and words",
    "words and distance",
)
"""Kinds of probes."""


@dataclass(frozen=True)
class ProbeRow:
    """The score of a probe or a baseline on the test part.

    Attributes:
        weights: of the model whose attention it sees; `none` for those that see none.
        measure: one of `MEASURES`.
        spread: standard deviation over seeds.
        n: words.
    """

    corpus: str
    probe: str
    weights: str
    measure: str
    value: float
    low: float | None
    high: float | None
    spread: float | None
    n: int


PROBES = Table("probes", ProbeRow)


@dataclass(frozen=True)
class SentenceCounts:
    """Sentences of each part."""

    train: int
    dev: int
    test: int


@dataclass(frozen=True)
class ProbeSummary:
    """What a run of probes has to say besides its rows."""

    sentences: SentenceCounts
