"""What a reproduction writes: every printed number with ours beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from headscope.evidence import Int32, Table

POINTS = ("UAS", "points", "BLEU", "BLEU difference")
"""Units of numbers between 0 and 100."""


class Verdict(StrEnum):
    """What a comparison comes to."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CANNOT = "cannot be compared"


@dataclass(frozen=True)
class ReproducedRow:
    """A printed number with ours beside it.

    Attributes:
        table: the name by which it is selected; where, row, column: its place in the paper.
        published: as printed, a number or a label; printed: its value, where it is a number.
        drawn: whether it was read off a drawing; the paper prints no such number.
        ours: a number or a label; None where it was not computed.
        low, high: the 95% interval of ours, n: the observations behind it.
        difference: ours less the published number.
        tolerance: how far outside our interval the published number may lie and still agree.
        because: what may explain a difference, or why the two cannot be compared.
    """

    paper: str
    table: str
    where: str
    row: str
    column: str
    unit: str
    published: str
    printed: float | None
    drawn: bool
    ours: str | None
    value: float | None
    low: float | None
    high: float | None
    n: Int32 | None
    difference: float | None
    tolerance: float | None
    verdict: str
    because: str
    source: str

    @property
    def computed(self) -> bool:
        """Whether it was computed again, comparable or not."""
        return self.ours is not None

    @property
    def shown(self) -> bool:
        """Whether it is worth a line: what is printed, and points that can be compared."""
        return not self.drawn or self.verdict != Verdict.CANNOT

    @property
    def interval(self) -> str:
        """Our interval in words; empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"[{plain(self.low, self.unit)}, {plain(self.high, self.unit)}]"

    @property
    def moved(self) -> str:
        """Ours less the published number, in words; empty where it is none."""
        if self.difference is None:
            return ""
        sign = "+" if self.difference > 0 else ""
        return f"{sign}{plain(self.difference, self.unit)}"


def plain(value: float | str | None, unit: str = "") -> str:
    """A value as it is shown: about as many digits as the papers print.

    >>> plain(94.3), plain(3.14159), plain(992.0), plain("8-11"), plain(0.6581, "% of heads")
    ('94.3', '3.142', '992', '8-11', '0.7')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if value == round(value):
        return f"{round(value)}"
    tenths = abs(value) >= 10 or "%" in unit or unit in POINTS
    return f"{value:.1f}" if tenths else f"{value:.3f}".rstrip("0").rstrip(".")


REPRODUCED = Table("reproduced", ReproducedRow)


@dataclass(frozen=True)
class ReproductionSummary:
    """What a reproduction has to say besides its rows.

    Attributes:
        title: of the paper; paper_models: that its authors used.
        inputs: by name, what stands for what the authors used, in words.
        tolerances: what the tolerances of the numbers are made of.
        conventions: where the recipes follow the paper instead of headscope's defaults.
        open: what the paper leaves open.
    """

    paper: str
    title: str
    paper_models: list[str]
    inputs: dict[str, str]
    tolerances: list[str]
    conventions: list[str]
    open: list[str]


def counts_in_words(rows: list[ReproducedRow]) -> str:
    """How many numbers agree, differ, cannot be compared.

    >>> counts_in_words([])
    '0 of 0 numbers computed again: 0 agree, 0 differ, 0 cannot be compared'
    """
    computed = [row for row in rows if row.computed]
    verdicts = Counter(row.verdict for row in computed)
    return (
        f"{len(computed):,} of {len(rows):,} numbers computed again: "
        f"{verdicts[Verdict.AGREES]:,} agree, {verdicts[Verdict.DIFFERS]:,} differ, "
        f"{verdicts[Verdict.CANNOT]:,} cannot be compared"
    )


def reasons(rows: list[ReproducedRow]) -> list[str]:
    """Why numbers were not computed again, the most frequent reason first."""
    counts = Counter(row.because for row in rows if not row.computed)
    return [f"{count:,} not computed: {because}" for because, count in counts.most_common()]


def by_table(rows: list[ReproducedRow]) -> dict[str, list[ReproducedRow]]:
    """The numbers of each table, figure and section, in the order of the paper."""
    found: dict[str, list[ReproducedRow]] = {}
    for row in rows:
        found.setdefault(row.where, []).append(row)
    return found
