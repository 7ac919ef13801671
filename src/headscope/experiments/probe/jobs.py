"""The probes of Clark's table 3, and what each brings in."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.evidence import ShardResult, Tally
from headscope.experiments.probe.probes import KINDS, AttentionProbe
from headscope.experiments.probe.tables import (
    ATTENTION,
    ATTENTION_AND_WORDS,
    CONTROL,
    NONE,
    RANDOM,
    RANDOM_LAYERS,
    TRAINED,
    UAS,
    WORDS_AND_DISTANCE,
)

Floats = NDArray[np.float64]
SCORED, CORRECT, AS_TREE, LABELLED = range(4)
"""Columns of `JobResult.counts`."""


@dataclass(frozen=True)
class Job:
    """A probe to be trained.

    Attributes:
        weights: of the model whose attention it sees.
        task: `UAS` or `control`.
    """

    kind: str
    weights: str
    task: str

    @property
    def sees_attention(self) -> bool:
        """Whether the probe sees attention."""
        return issubclass(KINDS[self.kind], AttentionProbe)

    @property
    def measures_use(self) -> bool:
        """Whether it is asked which heads the probe uses."""
        return self.sees_attention and (self.weights, self.task) == (TRAINED, UAS)

    @property
    def can_be_labelled(self) -> bool:
        """Whether relations can be predicted for the heads that it finds."""
        return self.sees_attention and self.task == UAS

    @property
    def attention_of(self) -> str:
        """The weights of the model that reads the sentences for it."""
        return TRAINED if self.weights == NONE else self.weights


JOBS = (
    Job(ATTENTION, TRAINED, UAS),
    Job(ATTENTION_AND_WORDS, TRAINED, UAS),
    Job(WORDS_AND_DISTANCE, NONE, UAS),
    Job(ATTENTION, TRAINED, CONTROL),
    Job(ATTENTION_AND_WORDS, TRAINED, CONTROL),
    Job(WORDS_AND_DISTANCE, NONE, CONTROL),
    Job(ATTENTION_AND_WORDS, RANDOM_LAYERS, UAS),
    Job(ATTENTION_AND_WORDS, RANDOM, UAS),
)


@dataclass(frozen=True)
class JobResult:
    """What a job brings in.

    Attributes:
        counts: (sentence, 4) words that are scored, correct by argmax, correct as trees, correct
            with their relation; the mean over seeds.
        by_seed: (seed,) accuracy by argmax.
        use: sums of what heads add to scores, in both directions, where that is measured.
    """

    counts: Floats
    by_seed: Floats
    use: Tally | None = None

    def store(self, job: Job, result: ShardResult) -> None:
        """Put it into a result, which the run folder keeps."""
        counts, by_seed, use = _names(job)
        result.columns[counts], result.columns[by_seed] = self.counts, self.by_seed
        if self.use is not None:
            result.tallies[use] = self.use

    @classmethod
    def restore(cls, job: Job, result: ShardResult) -> JobResult:
        """The result that `store` put into a result."""
        counts, by_seed, use = _names(job)
        return cls(result.columns[counts], result.columns[by_seed], result.tallies.get(use))

    @property
    def spread(self) -> float | None:
        """Standard deviation over seeds; None for one seed."""
        return float(self.by_seed.std(ddof=1)) if len(self.by_seed) > 1 else None


def _names(job: Job) -> tuple[str, str, str]:
    """The names of a job's arrays in a result."""
    key = "/".join(astuple(job))
    return f"{key}/counts", f"{key}/by seed", f"{key}/use"
