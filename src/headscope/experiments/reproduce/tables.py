"""What a reproduction writes: every printed number with ours beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from headscope.evidence import Int32, Table


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
        published: as printed, a number or a label.
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


REPRODUCED = Table("reproduced", ReproducedRow)


@dataclass(frozen=True)
class ReproductionSummary:
    """What a reproduction has to say besides its rows.

    Attributes:
        title: of the paper; paper_models: that its authors used.
        inputs: by name, what stands for what the authors used, in words.
        conventions: where the recipes follow the paper instead of headscope's defaults.
        open: what the paper leaves open.
    """

    paper: str
    title: str
    paper_models: list[str]
    inputs: dict[str, str]
    conventions: list[str]
    open: list[str]


def counts_in_words(rows: list[ReproducedRow]) -> str:
    """How many numbers agree, differ, cannot be compared.

    >>> counts_in_words([])
    '0 of 0 printed numbers computed again: 0 agree, 0 differ, 0 cannot be compared'
    """
    computed = [row for row in rows if row.computed]
    verdicts = Counter(row.verdict for row in computed)
    return (
        f"{len(computed):,} of {len(rows):,} printed numbers computed again: "
        f"{verdicts[Verdict.AGREES]:,} agree, {verdicts[Verdict.DIFFERS]:,} differ, "
        f"{verdicts[Verdict.CANNOT]:,} cannot be compared"
    )
