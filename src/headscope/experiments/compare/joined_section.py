"""Whether the heads that changed most matter most: a comparison beside an ablation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from headscope.evidence.correlation import rank_correlation
from headscope.experiments.ablation.tables import ABLATION, gains, intact_score
from headscope.experiments.compare.section import UNCHANGED
from headscope.experiments.compare.tables import TUNED, similarities
from headscope.report.charts import Chart, head_datum
from headscope.report.drawings import gain_of, scatter
from headscope.report.sections import Section, run_sections
from headscope.runs import RunResults

Floats = NDArray[np.float64]


@run_sections(100)
def change_and_effect(results: list[RunResults]) -> Iterator[Section]:
    """Do the heads that changed most matter most? For a comparison and an ablation of one model."""
    for compared in results:
        tuned = compared.record.study.models.get(TUNED)
        for ablated in results:
            same = tuned and ablated.record.study.model.sha256 == tuned.sha256
            if same and ablated.has(ABLATION):
                for part in compared.by_attention():
                    yield from _joined(part, ablated.of(part.attention))


def _joined(compared: RunResults, ablated: RunResults) -> Iterator[Section]:
    metric, gained = intact_score(ablated).metric, gains(ablated)
    for corpus in compared.corpora:
        points = [
            head_datum(row, change=1 - row.value, effect=gained[row.place])
            for row in similarities(compared, corpus)
            if row.head is not None and row.place in gained
        ]
        if len(points) < 3:
            continue
        changed, effect, layers = (
            np.array([point[key] for point in points]) for key in ("change", "effect", "layer")
        )
        yield Section(
            f"Do the heads that changed most matter most? {ablated.record.study.model.name}"
            f"{compared.of_attention}",
            [
                f"Across: how much a head's maps changed ({corpus}); up: what {metric} "
                "gains when it is off.",
                _correlation_in_words(changed, np.abs(effect), layers),
            ],
            [
                Chart(
                    "change-and-effect",
                    "change and effect",
                    "A point is a head.",
                    scatter("change", "change (1 - cosine)", gain_of(metric)),
                    points,
                )
            ],
            menu="Change and effect",
        )


def _correlation_in_words(changed: Floats, effects: Floats, layers: Floats) -> str:
    """Whether change and the size of the effect go together."""
    moved = np.ptp(changed) >= UNCHANGED
    correlation = rank_correlation(changed, effects, layers) if moved else None
    if correlation is None:
        return "All heads changed equally, or none has an effect: no correlation can be computed."
    if not correlation.sure:
        meaning = "The data do not show that they do."
    else:
        meaning = f"Heads that changed more matter {'more' if correlation.value > 0 else 'less'}."
    return f"Spearman's correlation of change with the size of the effect: {correlation}. {meaning}"
