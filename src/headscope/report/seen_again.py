"""Whether what a head does on one corpus is seen again on the others of the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from headscope.evidence import HeadRow, RoleRule
from headscope.evidence.few_cases import MIN_CASES
from headscope.evidence.interval import ALPHA, benjamini_hochberg
from headscope.report.sections import Cell
from headscope.report.views import CorpusView

SAME_LABELS = 0.8
"""Two corpora have the same labels if of the cases of each so many have a label of the other.
Of Universal Dependencies English and German share 95% or more, English and Japanese 65%; English
in Universal and in Stanford Dependencies shares 50 to 57%."""

Pair = tuple[HeadRow, HeadRow]
"""A number of a head that confirms a role, and its gain over the baseline."""


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
    def views(self) -> list[CorpusView]:
        """The other corpora that the same model read and whose labels are the same."""
        view = self.view
        others = [
            replace(view, corpus=record.corpus)
            for record in view.results.record.corpora
            if (record.weights, record.attention) == (view.weights, view.attention)
            and record.corpus != view.corpus
        ]
        mine = self._cases(view)
        return [other for other in others if same_labels(mine, self._cases(other))]

    def again(self, found: Sequence[Pair]) -> list[Cell]:
        """For the best head of every group: in how many of the other corpora that have enough cases
        it passes its tests again, and in how many its number is as high; empty where it is not sure
        here. As heads are chosen before, tests are corrected over those looked for alone.
        """
        sure = [(best, gain) for best, gain in found if _is_sure(best, gain)]
        passed: dict[str | None, list[bool]] = {best.group: [] for best, _ in sure}
        high: dict[str | None, int] = dict.fromkeys(passed, 0)
        for other in self.views:
            pairs = [
                (best, self._same(other, best), self._same(other, gain)) for best, gain in sure
            ]
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

    @staticmethod
    def _same(other: CorpusView, row: HeadRow) -> HeadRow | None:
        """The same number of the same head on another corpus."""
        rows = other.head_rows(row.analysis, row.statistic, row.direction, row.group)
        return next((one for one in rows if one.place == row.place), None)

    def _cases(self, view: CorpusView) -> dict[str, int]:
        """How many cases the labels of a corpus have."""
        return {
            row.group or "": row.n
            for row in view.rows
            if row.head is not None
            and (row.analysis, row.statistic) == (self.analysis, self.rule.statistic)
            and row.group not in self.rule.excluded
        }


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
    return best.sure and gain.sure and gain.value > 0


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
