"""Comparing a printed number with ours: by a tolerance that the paper's file states beforehand."""

from __future__ import annotations

from headscope.experiments.reproduce.paper import Paper, PublishedNumber
from headscope.experiments.reproduce.tables import ReproducedRow, Verdict, plain
from headscope.experiments.reproduce.workbench import Recomputed

AT_LEAST, AT_MOST = "at least", "at most"
"""Limits that a paper gives instead of a number."""
ROUNDING = 1e-9
"""Differences of floating-point numbers that count as none."""


def compare(
    paper: Paper, number: PublishedNumber, ours: Recomputed | None, because: str
) -> ReproducedRow:
    """A row of the table.

    A number agrees if the published one lies within our 95% interval, widened by the tolerance at
    both ends (within the tolerance of our value where there is no interval); a limit, if our
    interval reaches the side of it that the paper names.

    Args:
        ours: None where it was not computed.
        because: what may explain a difference, or why it was not computed.
    """
    verdict, difference = Verdict.CANNOT, None
    if ours is not None and ours.apart:
        because = ours.apart
    elif ours is not None and ours.value is not None and not isinstance(number.value, str):
        difference = ours.value - number.value
        verdict = Verdict.AGREES if _agrees(number, number.value, ours) else Verdict.DIFFERS
    elif ours is not None and ours.label:
        verdict = Verdict.AGREES if ours.label == number.value else Verdict.DIFFERS
    return ReproducedRow(
        paper=paper.key,
        table=number.table,
        where=number.where,
        row=number.row,
        column=number.column,
        unit=number.unit,
        published=f"{number.bound} {plain(number.value)}".strip(),
        printed=None if isinstance(number.value, str) else number.value,
        drawn=number.drawn,
        ours=None if ours is None else ours.label or plain(ours.value, number.unit),
        value=None if ours is None else ours.value,
        low=None if ours is None else ours.low,
        high=None if ours is None else ours.high,
        n=None if ours is None else ours.n,
        difference=difference,
        tolerance=None if ours is None else number.tolerance,
        verdict=verdict,
        because="" if verdict is Verdict.AGREES else because,
        source=number.source,
    )


def _agrees(number: PublishedNumber, published: float, ours: Recomputed) -> bool:
    assert ours.value is not None
    low = ours.value if ours.low is None else ours.low
    high = ours.value if ours.high is None else ours.high
    reach = number.tolerance + ROUNDING
    return (number.bound == AT_MOST or published <= high + reach) and (
        number.bound == AT_LEAST or published >= low - reach
    )
