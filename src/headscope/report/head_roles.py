"""What a head is: the roles that heads earn by the rules of the analyses.

It is not the value that has to pass a threshold but the evidence for it: a head has a role where
the test that its value is above the threshold is passed after correction over all heads and
groups of the rule, and where the statistic's own test is passed too: that the value is above its
baseline, the strongest of simple rules, and beyond what heads of untrained networks reach. A head
may have several roles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.evidence import HEADS, HeadRow, RoleRule
from headscope.evidence.interval import ALPHA, benjamini_hochberg
from headscope.evidence.role_rule import ANY
from headscope.report.catalogue import role_rules
from headscope.report.named_baselines import strongest_baseline
from headscope.runs import RunResults


@dataclass(frozen=True)
class HeadRole:
    """A role that a head has, with its evidence.

    Attributes:
        analysis: whose rule it is.
        row: the number that earned it.
        q: the corrected p-value of being above the threshold.
        beaten: the strongest simple baseline by name, where the rule has several.
    """

    analysis: str
    rule: RoleRule
    row: HeadRow
    q: float
    beaten: str | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Layer and head."""
        return self.row.place

    @property
    def what(self) -> str:
        """The group and the number, in short: `det row +21.0 pt`."""
        direction = self.row.direction if self.rule.direction == ANY else None
        words = (self.row.group, direction, self.rule.unit.number(self.row.value))
        return " ".join(word for word in words if word)

    @property
    def sentence(self) -> str:
        """What the head does, with the evidence for it."""
        rule, row, number = self.rule, self.row, self.rule.unit.number
        value = f"{number(row.value)} {row.interval(rule.unit)}"
        direction = rule.directions.get(row.direction or "", row.direction)
        words = rule.words.format(group=row.group, direction=direction, value=value)
        known = row.baseline is not None and not rule.unit.signed
        baseline = f"; baseline {number(row.baseline)}" if known else ""
        if self.beaten is not None:
            baseline = f"; beats {self.beaten}"
        least = number(rule.threshold).lstrip("+")
        chance = "q < .001" if self.q < 0.001 else f"q = {self.q:.3f}"
        return f"{words} (at least {least}: {rule.source}, {chance}{baseline})"


def head_roles(results: RunResults, corpus: str, weights: str = "trained") -> list[HeadRole]:
    """The roles of heads on a corpus, rule by rule, the clearest first."""
    return [
        role
        for analysis, rule in role_rules()
        for role in _earned(analysis, rule, results, corpus, weights)
    ]


def _earned(
    analysis: str, rule: RoleRule, results: RunResults, corpus: str, weights: str
) -> list[HeadRole]:
    place = {"corpus": corpus, "weights": weights, "analysis": analysis}
    rows = [
        row
        for row in results.rows(HEADS, statistic=rule.statistic, **place)
        if _is_about(rule, row)
    ]
    freedom = _freedom(results, corpus, weights)
    tested = [row for row in rows if row.low is not None]
    if not tested:
        return []
    confirmed = set()
    if rule.confirmed_by:
        others = results.rows(HEADS, statistic=rule.confirmed_by, **place)
        confirmed = {_cell(row) for row in others if _beats_its_baseline(row)}
    chances = benjamini_hochberg(_chances(rule, tested, freedom))
    roles = [
        HeadRole(analysis, rule, row, float(q), strongest_baseline(results, rule, row))
        for row, q in zip(tested, chances, strict=True)
        if q < ALPHA
        and _beats_its_baseline(row)
        and (rule.confirmed_by is None or _cell(row) in confirmed)
    ]
    return sorted(roles, key=lambda role: -role.row.value)


def _beats_its_baseline(row: HeadRow) -> bool:
    """Whether a value is surely above its baseline, and above what heads of untrained networks
    reach; without a baseline there is nothing to beat. Where it is not known what they reach,
    nothing was tested.
    """
    if row.baseline is None:
        return True
    return row.sure and row.value > (row.baseline if row.null_high is None else row.null_high)


def _is_about(rule: RoleRule, row: HeadRow) -> bool:
    """Whether a row is one that the rule is about."""
    direction = rule.direction in (ANY, row.direction)
    group = row.group in rule.groups if rule.groups else row.group not in rule.excluded
    return row.head is not None and direction and group


def _freedom(results: RunResults, corpus: str, weights: str) -> float:
    """The degrees of freedom of intervals on a corpus: its groups of documents, less one."""
    for record in results.record.corpora:
        place = (record.corpus, record.weights, record.attention)
        if place == (corpus, weights, results.attention):
            return float(max(1, record.buckets - 1))
    return float("inf")


def _chances(rule: RoleRule, rows: list[HeadRow], freedom: float) -> NDArray[np.float64]:
    """(row,) the one-sided p of a value that is not above the threshold, by the lower half of its
    interval.
    """
    from scipy import stats

    value = np.array([row.value for row in rows])
    least = np.full(len(rows), rule.threshold)
    if rule.margin:
        baseline = np.array([row.baseline or 0.0 for row in rows])
        least = np.maximum(least, baseline + rule.margin)
    half = np.maximum(value - np.array([row.low for row in rows], dtype=float), 1e-9)
    error = half / stats.t.ppf(0.975, freedom)
    return np.asarray(stats.t.sf((value - least) / error, freedom))


def _cell(row: HeadRow) -> tuple[str | int | None, ...]:
    return row.group, row.direction, row.layer, row.head


@dataclass(frozen=True)
class Label:
    """A role of a head, and what it earned it by, best first."""

    name: str
    head: str
    evidence: tuple[str, ...]

    @property
    def reasons(self) -> str:
        """The two best reasons, in brackets."""
        more = f" and {len(self.evidence) - 2} more" if len(self.evidence) > 2 else ""
        return f"({', '.join(self.evidence[:2])}{more})"

    @property
    def short(self) -> str:
        """The name with the two best reasons.

        >>> Label("syntactic", "L2.H8", ("det row +21.0 pt", "aux row +15.0 pt", "cop row")).short
        'syntactic (det row +21.0 pt, aux row +15.0 pt and 1 more)'
        """
        return f"{self.name} {self.reasons}"


def labels(roles: list[HeadRole]) -> list[Label]:
    """Roles by name and head."""
    earned: dict[tuple[str, str], list[str]] = {}
    for role in roles:
        earned.setdefault((role.rule.name, role.row.name), []).append(role.what)
    return [Label(name, head, tuple(reasons)) for (name, head), reasons in earned.items()]
