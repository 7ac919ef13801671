"""Sections of the page, and the registries that analyses and experiments put theirs into.

Nothing here is named after an analysis or an experiment: a `section.py` registers what it has to
show, and the page loops over what is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from headscope.report.arcs import Picture
from headscope.report.charts import Chart

if TYPE_CHECKING:
    from headscope.report.views import CorpusView
    from headscope.runs import RunResults

SHOWN = 10
"""Heads at either end of a table."""
Place = tuple[int, int]
"""Layer and head."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than a text.

    Attributes:
        note: in small print.
        strong: whether it is set in bold: a finding.
        head: the head that it names, which opens with a click.
    """

    text: str
    note: str = ""
    strong: bool = False
    head: str | None = None

    def __str__(self) -> str:
        return f"{self.text} {self.note}".strip()


@dataclass(frozen=True)
class Section:
    """A section of the page: what it says, its charts, its table.

    Attributes:
        below: sections within it.
        pictures: sentences with arcs by title, where an analysis chooses and orders them itself.
    """

    title: str
    text: list[str]
    charts: list[Chart] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[Cell | str, ...]] = ()
    below: list[Section] = field(default_factory=list)
    pictures: list[tuple[str, list[Picture]]] | None = None

    @property
    def cells(self) -> list[tuple[Cell, ...]]:
        """The table with every cell as a `Cell`."""
        return [
            tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row)
            for row in self.rows
        ]


RunSections = Callable[[list["RunResults"]], Iterable[Section]]
AnalysisSection = Callable[["CorpusView"], Section | None]
CardLines = Callable[["CorpusView", list["RunResults"]], Iterable[tuple[Place, str]]]
Relatives = Callable[["CorpusView"], dict[str, list[tuple[str, float]]]]
SummaryLines = Callable[["CorpusView", list["RunResults"]], Iterable[str]]
Function = TypeVar("Function", bound=Callable[..., object])


class Registry(list[tuple[int, Function]]):
    """Functions in the order in which the page calls them."""

    def __call__(self, order: int) -> Callable[[Function], Function]:
        """Register a function; a lower order comes first."""

        def add(function: Function) -> Function:
            self.append((order, function))
            self.sort(key=lambda entry: entry[0])
            return function

        return add

    @property
    def functions(self) -> list[Function]:
        """All functions in order."""
        return [function for _, function in self]


run_sections: Registry[RunSections] = Registry()
"""`@run_sections(order)`: sections made from all runs of a page."""
card_lines: Registry[CardLines] = Registry()
"""`@card_lines(order)`: sentences on heads of a view, for their cards."""
head_relatives: Registry[Relatives] = Registry()
"""`@head_relatives(order)`: for heads of a view by name, the heads nearest to them, and how far."""
summary_lines: Registry[SummaryLines] = Registry()
"""`@summary_lines(order)`: sentences for the summary of a model."""
_ANALYSIS_SECTIONS: dict[str, AnalysisSection] = {}


def analysis_section(analysis: str) -> Callable[[AnalysisSection], AnalysisSection]:
    """Register what an analysis has to show besides its numbers per head."""

    def add(function: AnalysisSection) -> AnalysisSection:
        _ANALYSIS_SECTIONS[analysis] = function
        return function

    return add


def section_of(analysis: str) -> AnalysisSection | None:
    """The section of an analysis, where it has one."""
    return _ANALYSIS_SECTIONS.get(analysis)
