"""Probes: Clark's table 3 for this model and treebank, and the heads that the probes use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headscope.evidence import HEADS, HeadRow, Unit
from headscope.evidence.correlation import rank_correlation
from headscope.experiments.probe.tables import (
    ATTENTION,
    ATTENTION_AND_WORDS,
    MEASURES,
    NONE,
    PROBES,
    RANDOM,
    RANDOM_LAYERS,
    SELECTIVITY,
    TRAINED,
    UAS,
    WORDS_AND_DISTANCE,
    ProbeRow,
    ProbeSummary,
)
from headscope.report.sections import Place, Section, analysis_section, run_sections
from headscope.report.views import CorpusView
from headscope.runs import RunResults

PUBLISHED = {
    (ATTENTION, TRAINED): "61",
    (ATTENTION_AND_WORDS, TRAINED): "77",
    (WORDS_AND_DISTANCE, NONE): "58",
    (ATTENTION_AND_WORDS, RANDOM_LAYERS): "30",
    ("right-branching", NONE): "26.3",
}
"""UAS of BERT-base on the Wall Street Journal with GloVe (Clark et al. 2019, table 3)."""
SUFFIXES = {TRAINED: "", NONE: "", RANDOM_LAYERS: ", random layers", RANDOM: ", all random"}


@analysis_section("probe")
def probes_section(view: CorpusView) -> Section | None:
    """The table of probes and baselines."""
    rows = view.results.rows(PROBES, corpus=view.corpus)
    if not rows:
        return None
    measures = [name for name in MEASURES if any(row.measure == name for row in rows)]
    by_probe: dict[tuple[str, str], dict[str, ProbeRow]] = {}
    for row in rows:
        by_probe.setdefault((row.probe, row.weights), {})[row.measure] = row
    return Section(
        "Probes",
        [_text(view, rows[0].n)],
        columns=("probe", *measures, "over seeds", "Clark et al."),
        rows=[
            (
                f"{probe}{SUFFIXES[weights]}",
                *(_cell(scores.get(name)) for name in measures),
                _spread(scores[UAS]),
                PUBLISHED.get((probe, weights), "-"),
            )
            for (probe, weights), scores in sorted(
                by_probe.items(), key=lambda entry: -entry[1][UAS].value
            )
        ],
        finding=_finding(by_probe),
    )


def _finding(by_probe: dict[tuple[str, str], dict[str, ProbeRow]]) -> str:
    """The best probe of the trained model beside the best that sees no attention."""
    scores = {key: rows[UAS] for key, rows in by_probe.items()}
    number = Unit.SHARE.number
    trained = {key: row for key, row in scores.items() if key[1] == TRAINED}
    blind = {key: row for key, row in scores.items() if key[1] == NONE}
    if not trained:
        return ""
    (name, _), row = max(trained.items(), key=lambda entry: entry[1].value)
    said = f"The probe of {name} finds {number(row.value)} of syntactic heads"
    if not blind:
        return said
    (other, _), least = max(blind.items(), key=lambda entry: entry[1].value)
    return f"{said}; without any attention {number(least.value)} ({other})"


def _text(view: CorpusView, words: int) -> str:
    record = view.results.record
    options, counts = record.study.options, record.summary_as(ProbeSummary).sentences
    vectors = options["vectors"][0] if options["vectors"] else "the model's own input embeddings"
    return (
        f"Unlabelled attachment on {words:,} words without punctuation, each probe trained with "
        f"{options['seeds']} seeds on {counts.train:,} sentences, stopped by {counts.dev:,} "
        f"others. Word vectors: {vectors}. Control: each word type is assigned once and for all "
        "to the first word, the last, or itself; selectivity is what a probe finds beyond what it "
        "could memorise (Hewitt and Liang 2019). Random layers: the same model, embeddings kept. "
        "In the last column BERT-base on the whole Wall Street Journal, for comparison."
    )


def _cell(row: ProbeRow | None) -> str:
    if row is None:
        return "-"
    unit = Unit.POINTS if row.measure == SELECTIVITY else Unit.SHARE
    return f"{unit.number(row.value)} {unit.interval(row.low, row.high)}"


def _spread(row: ProbeRow) -> str:
    return "-" if row.spread is None else f"±{100 * row.spread:.2f}"


@run_sections(140)
def use_and_accuracy(results: list[RunResults]) -> Iterator[Section]:
    """Do probes use the heads that find syntactic heads by themselves? For a probe and a scan."""
    for probed in results:
        for scanned in results if probed.has(PROBES) else []:
            names = [analysis.analysis for analysis in scanned.record.analyses]
            models = (run.record.study.model.sha256 for run in (probed, scanned))
            if "dependencies" in names and len(set(models)) == 1:
                yield from _joined(probed, scanned)


def _joined(probed: RunResults, scanned: RunResults) -> Iterator[Section]:
    used = _largest(probed.rows(HEADS, analysis="probe", group=ATTENTION))
    for corpus in scanned.record.corpora:
        if corpus.weights not in ("trained", "tuned"):
            continue
        rows = scanned.of(corpus.attention).rows(
            HEADS,
            analysis="dependencies",
            statistic="accuracy",
            group="all",
            corpus=corpus.corpus,
            weights=corpus.weights,
        )
        alone = _largest([row for row in rows if row.direction in ("row", "column")])
        heads = sorted(used.keys() & alone.keys())
        correlation = rank_correlation(
            np.array([used[head] for head in heads]),
            np.array([alone[head] for head in heads]),
            [layer for layer, _ in heads],
        )
        if correlation is not None:
            yield Section(
                f"Do probes use the heads that parse alone? {probed.corpora[0]} and "
                f"{corpus.corpus}",
                [
                    "Spearman's correlation of a head's use by the probe of attention with the "
                    f"share of syntactic heads that it finds by itself: {correlation}."
                ],
            )


def _largest(rows: list[HeadRow]) -> dict[Place, float]:
    """The larger of two directions, by layer and head."""
    largest: dict[Place, float] = {}
    for row in rows:
        if row.head is not None:
            largest[row.place] = max(largest.get(row.place, row.value), row.value)
    return largest
