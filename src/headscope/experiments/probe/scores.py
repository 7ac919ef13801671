"""The results of all jobs and baselines as rows, and which heads the probes use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import BUCKETS, bucket_of
from headscope.evidence import Layout, Statistic, Tally, Unit, estimate
from headscope.experiments.probe import sentences as trees
from headscope.experiments.probe.jobs import AS_TREE, CORRECT, LABELLED, SCORED, Job, JobResult
from headscope.experiments.probe.sentences import Ints, ParsedSentence, count_correct
from headscope.experiments.probe.tables import (
    ATTENTION,
    CONTROL,
    LAS,
    NONE,
    SELECTIVITY,
    TREE,
    UAS,
    ProbeRow,
)

Floats = NDArray[np.float64]
DIRECTIONS = ("from the head to the dependent", "from the dependent to the head")


@dataclass(frozen=True)
class ScoreTable:
    """Scores on the test part, with intervals over its documents."""

    corpus: str
    train: list[ParsedSentence]
    test: list[ParsedSentence]

    def probes(self, results: dict[Job, JobResult], labels: bool) -> Iterator[ProbeRow]:
        """The scores of every probe.

        Args:
            labels: whether relations were predicted.
        """
        for job, result in results.items():
            counts, names = result.counts, (job.kind, job.weights)
            words, correct = counts[:, SCORED], counts[:, CORRECT]
            yield replace(self._row(*names, job.task, correct, words), spread=result.spread)
            if job.task != UAS:
                continue
            yield self._row(*names, TREE, counts[:, AS_TREE], words)
            if labels and job.can_be_labelled:
                yield self._row(*names, LAS, counts[:, LABELLED], words)
            control = results.get(replace(job, task=CONTROL))
            if control is not None:
                gap = correct - control.counts[:, CORRECT]
                yield self._row(*names, SELECTIVITY, gap, words, share=False)

    def baselines(self) -> Iterator[ProbeRow]:
        """The scores of parsers that need no training but counting."""
        offset, offsets = trees.best_offset(self.train), trees.best_offsets(self.train)
        baselines: dict[str, Callable[[ParsedSentence], Ints]] = {
            "right-branching": trees.right_branching,
            f"fixed offset ({offset:+d})": lambda sentence: trees.at_offset(sentence, offset),
            "fixed offset by relation": lambda sentence: trees.by_relation(sentence, offsets),
        }
        words = np.array([sentence.scored.sum() for sentence in self.test], dtype=float)
        for name, predict in baselines.items():
            correct = [count_correct(sentence, predict(sentence)) for sentence in self.test]
            yield self._row(name, NONE, UAS, np.array(correct, dtype=float), words)

    def _row(
        self,
        probe: str,
        weights: str,
        measure: str,
        correct: Floats,
        words: Floats,
        *,
        share: bool = True,
    ) -> ProbeRow:
        """A score from (sentence,) counts."""
        sums, counts = np.zeros(BUCKETS), np.zeros(BUCKETS)
        buckets = [bucket_of(sentence.unit) for sentence in self.test]
        np.add.at(sums, buckets, correct)
        np.add.at(counts, buckets, words)
        score = estimate(sums, counts, share=share)
        low, high = (None if np.isnan(bound) else float(bound) for bound in (score.low, score.high))
        value, n = float(score.value), int(score.n)
        return ProbeRow(self.corpus, probe, weights, measure, value, low, high, None, n)


def use_statistics(results: dict[Job, JobResult], shape: Layout) -> list[Statistic]:
    """Which heads the probes use, by direction of attention."""
    used = {job.kind: result.use for job, result in results.items() if result.use is not None}
    statistics = []
    for place, direction in enumerate(DIRECTIONS):
        tallies = [tally.part(slice(place, place + 1)) for tally in used.values()]
        use = Tally.of(
            np.concatenate([tally.sums for tally in tallies], -1),
            np.concatenate([tally.counts for tally in tallies], -1),
        )
        zero = Tally(shape, len(used))
        zero.counts[:] = use.counts
        statistics.append(
            Statistic(
                "use",
                use,
                zero,
                Unit.NATS_GAINED,
                "what the head adds to the score of the right candidate above the others",
                tuple(used),
                direction,
                headlines={ATTENTION: f"use by a probe, {direction}"},
            )
        )
    return statistics
