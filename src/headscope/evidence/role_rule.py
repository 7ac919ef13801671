"""Role rules: what the evidence must show before a head is said to have a role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headscope.evidence.unit import Unit

CLARK, KOVALEVA, VOITA = "Clark et al. 2019", "Kovaleva et al. 2019", "Voita et al. 2019"
LENS, OURS = "TransformerLens's head detector", "ours"
ANY = "any"
"""The direction of a rule that holds for any direction."""


@dataclass(frozen=True)
class RoleRule:
    """How a head earns a role; declared by the analysis that measures the statistic.

    A head has the role where the test that its value is above the threshold is passed after
    correction over all heads and groups of the rule, and where the statistic's own test against
    its baseline is passed too.

    Attributes:
        name: of the role.
        words: what such a head does, with {value}, {group} and {direction}.
        statistic, direction: which number of the analysis; direction `ANY`: of any direction.
        groups: of which groups; empty: of any but those in `excluded`.
        threshold: what the value must be above.
        margin: how far above the baseline it must be at least.
        confirmed_by: another statistic of the analysis whose test must be passed instead.
        source: who set the threshold.
        rank: roles of a lower rank tell more and are listed first.
        directions: words for the directions, where their names are not clear by themselves.
    """

    name: str
    words: str
    statistic: str
    threshold: float
    source: str
    rank: int = 50
    groups: tuple[str, ...] = ()
    direction: str | None = None
    margin: float = 0.0
    confirmed_by: str | None = None
    excluded: tuple[str, ...] = ()
    unit: Unit = Unit.SHARE
    directions: Mapping[str, str] = field(default_factory=dict)
