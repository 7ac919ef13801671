"""Whether what a head does on one corpus is seen again on the others of the same run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from headscope.evidence import BestHead, HeadRow, RoleRule
from headscope.evidence.undecided import MIN_CASES
from headscope.report.sections import Cell
from headscope.report.views import CorpusView

SAME_LABELS = 0.8
"""Two corpora have the same labels if of the cases of each so many have a label of the other.
Of Universal Dependencies English and German share 95% or more, English and Japanese 65%; English
in Universal and in Stanford Dependencies shares 50 to 57%."""


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

    def again(self, best: BestHead, gain: BestHead) -> Cell:
        """In how many of the other corpora that have enough cases the best head of a group passes
        its tests again, and in how many its number is as high; empty where it is not sure here.

        Args:
            best: the number that confirms the role; gain: that of the rule itself.
        """
        if not (best.sure and gain.sure and gain.value > 0):
            return Cell("")
        pairs = [(self._same(other, best), self._same(other, gain)) for other in self.views]
        known = [(one, two) for one, two in pairs if one and two and one.n >= MIN_CASES]
        if not known:
            return Cell("–", "no other has enough cases")
        passed = sum(one.sure and two.sure and two.value > 0 for one, two in known)
        high = sum(best.low is not None and one.value >= best.low for one, _ in known)
        return Cell(f"{passed} of {len(known)}", f"(as high in {high})", strong=passed == len(known))

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
