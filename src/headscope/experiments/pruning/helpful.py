"""Removed heads that help the task, by ablation of each of them alone in the intact model."""

from __future__ import annotations

from collections.abc import Sequence

from headscope._util.progress import NoProgress
from headscope.evidence.sequential import Verdict
from headscope.experiments._shared.held_out import HeldOut
from headscope.experiments.ablation.compute import Ablation
from headscope.experiments.ablation.tables import AblationRow
from headscope.runs import run


def helpful_heads(data: HeldOut, part: str, gone: Sequence[int]) -> list[AblationRow]:
    """The ablation of those heads without which, one at a time, the metric is significantly worse.

    Args:
        part: the part of the data that they are switched off on.
        gone: the removed heads, by number; the test is corrected over them.
    """
    if not gone:
        return []
    ablation = Ablation(
        data.model,
        data.parts[part],
        heads=[data.model.head_name(*place) for place in data.model.places_of(gone)],
        how=str(data.how),
        max_length=data.max_length,
        seed=data.seed,
    )
    ablation.prepare(NoProgress())
    run(ablation.parts, ablation.work)
    name, helps = data.metric.name, str(Verdict.HELPS)
    return [row for row in ablation.rows if row.metric == name and row.verdict == helps]
