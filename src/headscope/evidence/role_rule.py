"""Role rules: the evidence that a head needs before it is assigned a role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from headscope.evidence.unit import Unit

CLARK, KOVALEVA, VOITA = "Clark et al. 2019", "Kovaleva et al. 2019", "Voita et al. 2019"
LENS, OURS = "TransformerLens's head detector", "ours"
ANY = "any"
"""The direction of a rule that applies to every direction."""


class RoleKind(StrEnum):
    """What a role is about; pages give each kind one colour."""

    SYNTAX = "syntax"
    COREFERENCE = "coreference"
    FRAMES = "frames"
    LINKS = "links"
    ALIGNMENT = "alignment"
    WORDS = "words"
    REPETITION = "repetition"
    POSITION = "position"
    RESTING = "resting"
    SHAPE = "shape"

    @property
    def about_language(self) -> bool:
        """Whether such a head follows something that people say of a text."""
        return self in LANGUAGE


LANGUAGE = {RoleKind.SYNTAX, RoleKind.COREFERENCE, RoleKind.FRAMES, RoleKind.LINKS}
LANGUAGE |= {RoleKind.ALIGNMENT}


@dataclass(frozen=True)
class RoleRule:
    """How a head earns a role; declared by the analysis that measures the statistic.

    A head has the role if its value is significantly above the threshold, corrected over all
    heads and groups of the rule, and if the statistic's own test against its baseline, beyond what
    heads of untrained networks reach, is significant too.

    Attributes:
        name: name of the role.
        words: what such a head does; a template with {value}, {group} and {direction}.
        statistic, direction: the statistic of the analysis, and its direction or `ANY`.
        groups: the groups to which the rule applies; empty: all except `excluded`.
        threshold: the value must exceed this.
        margin: the value must exceed the baseline by at least this much.
        confirmed_by: another statistic of the analysis whose test must be passed too.
        baselines: statistics of simple rules that need no head, and what sentences call them: the
            head has to beat the strongest, which is its baseline.
        source: who proposed the threshold.
        rank: roles of lower rank are more specific and listed first.
        unit: the unit of {value}.
        directions: readable names of the directions, if needed.
        kind: what it is about.
        titles: what such a head does in a few words, without numbers, by direction ("": any).
        group_words: readable names of the groups, for titles.
        mark: the role in at most six letters, for boards of all heads; may have {group}; empty:
            its name.
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
    kind: RoleKind = RoleKind.LINKS
    titles: Mapping[str, str] = field(default_factory=dict)
    group_words: Mapping[str, str] = field(default_factory=dict)
    mark: str = ""
    baselines: Mapping[str, str] = field(default_factory=dict)

    def title(self, group: str | None, direction: str | None) -> str:
        """What a head with the role does, in a few words.

        >>> rule = RoleRule("linking", "", "gain", 0.1, OURS, titles={"": "joins {group}"})
        >>> rule.title("nsubj", "row"), RoleRule("frame", "", "top", 0.1, OURS).title(None, None)
        ('joins nsubj', 'frame')
        """
        words = self.titles.get(direction or "", self.titles.get("", self.name))
        return words.format(group=self.group_words.get(group or "", group or ""))
