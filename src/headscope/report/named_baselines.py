"""The simple rule that a head has to beat, by name: the strongest of those of a role rule."""

from __future__ import annotations

from headscope.evidence import HEADS, HeadRow, RoleRule, Unit
from headscope.runs import RunResults


def strongest_baseline(results: RunResults, rule: RoleRule, row: HeadRow) -> str | None:
    """The strongest baseline for the group of a row, and how often it is right: `the sieve
    (79.2%)`; None where the rule has but one baseline, which has no name.
    """
    place = {"corpus": row.corpus, "weights": row.weights, "analysis": row.analysis}
    rows = [
        (words, baseline)
        for name, words in rule.baselines.items()
        for baseline in results.rows(HEADS, statistic=name, group=row.group, **place)
    ]
    if not rows:
        return None
    words, best = max(rows, key=lambda pair: pair[1].value)
    return f"{words} ({Unit.SHARE.number(best.value)})"
