"""What a comparison writes: its numbers are rows of `heads`, told apart by the column `weights`."""

from __future__ import annotations

from headscope.evidence import HEADS, HeadRow
from headscope.runs import RunResults

BASE, TUNED, BESIDE, DIFFERENCE = "base", "tuned", "beside", "difference"
"""Values of the column `weights`: the model that a number is of; or the difference of the first
two, which is also where the similarity of their maps stands.
"""
CHANGE = "change"
"""The experiment in `run.json`, and the analysis under which similarities stand in `heads`."""


def similarities(results: RunResults, corpus: str) -> list[HeadRow]:
    """The similarity of maps before and after on a corpus: of heads, of layers, of the model."""
    return results.rows(HEADS, analysis=CHANGE, corpus=corpus)
