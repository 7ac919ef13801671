"""What a model's heads do, at a glance: a headline, and the strongest finding of each kind.

Page, terminal and notebook say the same. Nothing is claimed that no rule of an analysis has tested:
a finding is a role that a head has earned, with the number that shows it best.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from headscope.evidence import HeadRow, RoleKind, Unit
from headscope.report.catalogue import role_rules
from headscope.report.head_roles import HeadRole
from headscope.report.named_baselines import strongest_baseline
from headscope.report.views import CorpusView

DOES = {
    RoleKind.WORDS: "follow single words",
    RoleKind.REPETITION: "follow repetition",
    RoleKind.POSITION: "follow position",
    RoleKind.RESTING: "rest on a special token",
}
"""What the heads of a kind do, after those that follow language."""
SMALL = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


@dataclass(frozen=True)
class Finding:
    """What a head does, with the number that shows it.

    Attributes:
        role: by which it earned it.
        row: the number: that of the role, or the one that confirms it where that has a baseline.
        others: how many other heads have this kind as their most telling.
    """

    role: HeadRole
    row: HeadRow
    unit: Unit
    others: int = 0

    @property
    def kind(self) -> RoleKind:
        """What it is about."""
        return self.role.rule.kind

    @property
    def title(self) -> str:
        """What the head does, in a few words."""
        return self.role.rule.title(self.role.row.group, self.role.row.direction)

    @property
    def evidence(self) -> str:
        """The number with its interval and its baseline."""
        known = self.row.baseline is not None and not self.unit.signed
        baseline = f", baseline {self.unit.number(self.row.baseline)}" if known else ""
        if self.role.beaten is not None:
            baseline = f", beats {self.role.beaten}"
        count = f", n = {self.row.n:,.0f}" if self.row.n else ""
        number = self.unit.number(self.row.value)
        return f"{number} {self.row.interval(self.unit)}{baseline}{count}"

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        return f"{self.row.name} {self.title}: {self.evidence}"


def finding_of(view: CorpusView, role: HeadRole) -> Finding:
    """A role as a finding: shown by accuracy and its baseline where it was earned by a gain."""
    row, rule = role.row, role.rule
    if rule.confirmed_by is not None:
        for other in view.head_rows(role.analysis, rule.confirmed_by, row.direction, row.group):
            if other.place == row.place:
                return Finding(role, other, Unit.SHARE)
    return Finding(role, row, rule.unit)


def gains_of(view: CorpusView) -> list[Finding]:
    """What heads do better than their baselines by a rule's own test and by the one that confirms
    it, whether or not it is enough for a role; the largest gains first.
    """
    gains = []
    for analysis, rule in role_rules():
        if rule.confirmed_by is None:
            continue
        rows = [row for row in view.rows if (row.analysis, row.head is None) == (analysis, False)]
        confirmed = {
            (row.place, row.group, row.direction)
            for row in rows
            if row.statistic == rule.confirmed_by and row.sure
        }
        for row in rows:
            about = row.statistic == rule.statistic and row.group not in rule.excluded
            known = (row.place, row.group, row.direction) in confirmed
            if about and known and row.sure and row.value > 0:
                beaten = strongest_baseline(view.results, rule, row)
                gains.append(HeadRole(analysis, rule, row, row.q or 0.0, beaten))
    gains.sort(key=lambda role: -role.row.value)
    return [finding_of(view, role) for role in gains]


def strongest(view: CorpusView) -> list[Finding]:
    """The clearest role of each kind, those about language first; shapes are left out."""
    by_kind: dict[RoleKind, list[HeadRole]] = defaultdict(list)
    for role in view.roles:
        by_kind[role.rule.kind].append(role)
    found, kinds = [], list(kinds_of(view).values())
    for kind in RoleKind:
        roles = by_kind[kind]
        if kind is RoleKind.SHAPE or not roles:
            continue
        shown = finding_of(view, max(roles, key=_clarity))
        others = max(kinds.count(kind) - 1, 0)
        found.append(Finding(shown.role, shown.row, shown.unit, others))
    return found


def _clarity(role: HeadRole) -> tuple[int, float]:
    """More telling roles first, then the value that is surest to be large."""
    low = role.row.low if role.row.low is not None else role.row.value
    return -role.rule.rank, low


def kinds_of(view: CorpusView) -> dict[tuple[int, int], RoleKind]:
    """The most telling kind of every head that has a role."""
    kinds: dict[tuple[int, int], RoleKind] = {}
    for role in by_kind(view.roles):
        kinds.setdefault(role.place, role.rule.kind)
    return kinds


def by_kind(roles: list[HeadRole]) -> list[HeadRole]:
    """Roles with the most telling kinds first."""
    return sorted(roles, key=lambda role: list(RoleKind).index(role.rule.kind))


def headline(view: CorpusView) -> str:
    """The model in one sentence: how many of its heads follow what."""
    kinds = list(kinds_of(view).values())
    total = sum(view.head_counts)
    of = "" if view.attention == "self" else f" {view.attention}"
    language = sum(kind.about_language for kind in kinds)
    parts = [(language, "follow language")]
    parts += [(kinds.count(kind), does) for kind, does in DOES.items()]
    said = [(count, does) for count, does in parts if count]
    owner = f"{view.model.name}'s {total}{of} heads"
    if not said and kinds:
        return f"None of {owner} shows more than the shape of its maps on {view.corpus}"
    if not said:
        return f"No rule could give a role to any of {owner} on {view.corpus}"
    first, *rest = said
    clauses = [f"{in_words(first[0]).capitalize()} of {owner} {_one(first)}"]
    clauses += [f"{in_words(part[0])} {_one(part)}" for part in rest]
    return clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])} and {clauses[-1]}"


def in_words(count: int) -> str:
    """A small number as a word.

    >>> in_words(7), in_words(24)
    ('seven', '24')
    """
    return SMALL[count] if count < len(SMALL) else str(count)


def _one(part: tuple[int, str]) -> str:
    """What so many heads do, in the singular if it is one."""
    count, does = part
    verb, _, rest = does.partition(" ")
    return f"{verb}s {rest}" if count == 1 else does
