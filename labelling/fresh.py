"""Fresh labels: what annotators who knew only the definitions of Kovaleva et al. 2019 call a map.

They saw the sheets of `labelling.sheets --twice`, not the guide with its questions and examples.
One line per map and annotator, never changed afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "fresh"
TRAINING = tuple(f"T{number}" for number in range(1, 10))
"""The annotators of maps for training, a set of maps each."""
SECOND = {"T3": "T7", "T4": "T8", "T5": "T9"}
"""Who labelled the maps of another annotator once more."""
HELD_OUT = tuple(f"H{number}" for number in range(1, 5))
"""The annotators of the held-out maps, all of which each of them saw. No training uses these."""


@dataclass(frozen=True)
class FreshLabel:
    """What one annotator called one map.

    Attributes:
        shape: one of the five patterns of Kovaleva et al. 2019.
        matching: whether lines link tokens to their counterparts in the other sentence of a pair.
    """

    shape: str
    matching: bool


@cache
def read_fresh(annotator: str) -> dict[int, FreshLabel]:
    """The labels of one annotator by the number of the map.

    >>> read_fresh("H1")[3964]
    FreshLabel(shape='diagonal', matching=False)
    """
    lines = (FOLDER / f"{annotator}.tsv").read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines]
    return {int(number): FreshLabel(shape, flag == "y") for number, shape, flag in cells}
