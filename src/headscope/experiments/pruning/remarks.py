"""What a reader must know before using a pruned model; it stands before everything else."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.evidence.metrics import Score
from headscope.experiments._shared.head_curves import ScoreChange
from headscope.experiments.ablation.tables import AblationRow
from headscope.experiments.pruning.tables import limit_in_words, points

NAMED_HEADS = 5
"""Heads that a sentence names; of the others it gives the number."""


def drop_warning(change: ScoreChange, intact: Score, max_drop: float) -> str | None:
    """A warning where the loss on the held-out part exceeds what is allowed."""
    lost = -change.delta * intact.better
    if lost <= max_drop:
        return None
    return (
        f"the loss of {points(lost, intact, '')} of {change.metric} on held-out examples is more "
        f"than --max-drop allows ({limit_in_words(max_drop, intact)}); the difference is "
        f"{points(change.delta, intact)} {intact.difference_unit.interval(change.low, change.high)}"
    )


def random_warning(change: ScoreChange, intact: Score, random: Sequence[float]) -> str | None:
    """A warning where removing as many heads at random does as well.

    Args:
        random: the metric without as many heads of each random order.
    """
    as_good = as_good_at_random(change, intact, random)
    if not as_good:
        return None
    bound = "at least" if intact.better > 0 else "at most"
    return (
        f"the choice of heads is not shown to be better than chance: {as_good} of "
        f"{len(random)} random choices of as many heads reach a {change.metric} of {bound} "
        f"{intact.unit.number(change.value)} on the same examples"
    )


def as_good_at_random(change: ScoreChange, intact: Score, random: Sequence[float]) -> int:
    """How many random choices of as many heads reach at least the metric of a choice."""
    return sum((value - change.value) * intact.better >= 0 for value in random)


def helpful_warning(rows: Sequence[AblationRow], intact: Score) -> str | None:
    """A warning where removed heads help the task.

    Args:
        rows: the ablation of removed heads that help, one at a time.
    """
    if not rows:
        return None
    worst = sorted(rows, key=lambda row: row.delta * intact.better)
    named = ", ".join(f"{row.name} ({points(row.delta, intact)})" for row in worst[:NAMED_HEADS])
    more = f" and {len(rows) - NAMED_HEADS} more" if len(rows) > NAMED_HEADS else ""
    return (
        f"ablation shows that removed heads help: without one of them alone {worst[0].metric} is "
        f"significantly worse: {named}{more}, on {worst[0].n:,} examples"
    )
