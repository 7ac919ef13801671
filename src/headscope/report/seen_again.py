"""Whether what a head does on one corpus is seen again on the others of the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headscope.evidence import HEADS, HeadRow, RoleRule
from headscope.evidence.few_cases import MIN_CASES, beats
from headscope.evidence.interval import ALPHA, benjamini_hochberg
from headscope.report.sections import Cell
from headscope.report.views import CorpusView

SAME_LABELS = 0.8
"""Two corpora have the same labels if of the cases of each so many have a label of the other.
Of Universal Dependencies English and German share 95% or more, English and Japanese 65%; English
in Universal and in Stanford Dependencies shares 50 to 57%."""

SEEN_AGAIN = (
    "Seen again: of the other corpora with the same labels and 100 cases or more, those in which "
    "the same head passes the same tests; as high: those in which its accuracy lies in the "
    "interval here or above it."
)
"""What the numbers of other corpora mean."""
Pair = tuple[HeadRow, HeadRow]
"""A number of a head that confirms a role, and its gain over the baseline."""
Where = tuple[str | None, str | None, int | None, int | None]
"""Group, direction, layer and head of a number."""


@dataclass(frozen=True)
class OtherCorpora:
    """The corpora of a run other than that of a view, as far as their labels can be compared.

    Attributes:
        rule: of the role; its statistic and the one that confirms it are what is looked for again.
    """

    view: CorpusView
    rule: RoleRule
    analysis: str

    @cached_property
    def corpora(self) -> list[str]:
        """The other corpora that the same model read and whose labels are the same."""
        view = self.view
        others = [
            record.corpus
            for record in view.results.record.corpora
            if (record.weights, record.attention) == (view.weights, view.attention)
            and record.corpus != view.corpus
        ]
        mine = self._cases(view.corpus) if others else {}
        return [other for other in others if same_labels(mine, self._cases(other))]

    def again(self, found: Sequence[Pair]) -> list[Cell]:
        """For the best head of every group: in how many of the other corpora that have enough cases
        it passes its tests again, and in how many its number is as high; empty where it is not sure
        here. As heads are chosen before, tests are corrected over those looked for alone.
        """
        sure = [(best, gain) for best, gain in found if _is_sure(best, gain)]
        passed: dict[str | None, list[bool]] = {best.group: [] for best, _ in sure}
        high: dict[str | None, int] = dict.fromkeys(passed, 0)
        for other in self.corpora if sure else ():
            numbers, gains = (self._by_cell(other, row.statistic) for row in sure[0])
            pairs = [(best, numbers.get(_at(best)), gains.get(_at(gain))) for best, gain in sure]
            known = [(best, one, two) for best, one, two in pairs if one and two]
            known = [trio for trio in known if trio[1].n >= MIN_CASES]
            passes = pass_again([(one, two) for _, one, two in known])
            for (best, one, _), does in zip(known, passes, strict=True):
                passed[best.group].append(does)
                high[best.group] += best.low is not None and one.value >= best.low
        return [
            _cell(passed[best.group], high[best.group]) if best.group in passed else Cell("")
            for best, _ in found
        ]

    def _by_cell(self, corpus: str, statistic: str) -> dict[Where, HeadRow]:
        """The numbers of a statistic on another corpus."""
        return {_at(row): row for row in self._rows(corpus, statistic=statistic)}

    def _cases(self, corpus: str) -> dict[str, int]:
        """How many cases the labels of a corpus have: the same for all heads."""
        layer = next(layer for layer, heads in enumerate(self.view.head_counts) if heads)
        rows = self._rows(corpus, statistic=self.rule.statistic, layer=layer, head=0)
        return {row.group or "": row.n for row in rows if row.group not in self.rule.excluded}

    def _rows(self, corpus: str, **wanted: object) -> list[HeadRow]:
        place = {"corpus": corpus, "weights": self.view.weights, "analysis": self.analysis}
        return self.view.results.rows(HEADS, **place, **wanted)


def _at(row: HeadRow) -> Where:
    return row.group, row.direction, row.layer, row.head


def pass_again(pairs: Sequence[Pair]) -> list[bool]:
    """Of heads that were chosen elsewhere: whether the number and its gain over the baseline both
    pass their tests, corrected over these alone.
    """
    if not pairs:
        return []
    tests = np.array([[np.nan if row.p is None else row.p for row in pair] for pair in pairs])
    q = np.stack([benjamini_hochberg(column) for column in tests.T], 1)  # NaN: not tested
    both = np.all(q < ALPHA, axis=1).tolist()
    return [ok and gain.value > 0 for ok, (_, gain) in zip(both, pairs, strict=True)]


def _is_sure(best: HeadRow, gain: HeadRow) -> bool:
    return best.sure and beats(gain)


def _cell(passed: list[bool], high: int) -> Cell:
    if not passed:
        return Cell("–", "no other has enough cases")
    text = f"{sum(passed)} of {len(passed)}"
    return Cell(text, f"(as high in {high})", strong=all(passed))


def same_labels(one: dict[str, int], other: dict[str, int]) -> bool:
    """Whether nearly all cases of each of two corpora have a label that the other has, too.

    >>> same_labels({"det": 90, "obj": 60, "list": 9}, {"det": 50, "obj": 60})
    True
    >>> same_labels({"det": 90, "obj": 60}, {"det": 50, "dobj": 60, "prep": 80})
    False
    """
    shared = one.keys() & other.keys()
    return bool(shared) and all(
        sum(labels[name] for name in shared) >= SAME_LABELS * sum(labels.values())
        for labels in (one, other)
    )
