"""Sections of the page, and the registries that analyses and experiments put theirs into.

Nothing here is named after an analysis or an experiment: a `section.py` registers what it has to
show, and the page loops over what is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from headscope.report.charts import Chart
from headscope.report.small_plots import Glance, Interval

if TYPE_CHECKING:
    from headscope.evidence import Unit
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
        plot: drawn beside the text.
        examples: the key of the sentences behind a number (`example_key`), which it opens.
    """

    text: str
    note: str = ""
    strong: bool = False
    head: str | None = None
    plot: Interval | None = None
    examples: str | None = None

    def __str__(self) -> str:
        return f"{self.text} {self.note}".strip()


@dataclass(frozen=True)
class Section:
    """A section of the page: what it says, its charts, its table.

    Attributes:
        title: what it is about, for menus and file names.
        finding: what it found, in a sentence without a full stop: the heading of its page.
        below: sections within it.
        glance: a small picture of the finding; a section that has one stands on the first screen.
        on_overview: whether it stands on the first screen without one.
        menu: its name in the menu, where the title is long.
        count: a number that stands beside its name in the menu.
        leads: whether a run is made to find this out: the headline of a page of that run alone.
    """

    title: str
    text: list[str]
    charts: list[Chart] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[Cell | str, ...]] = ()
    below: list[Section] = field(default_factory=list)
    finding: str = ""
    glance: Glance | None = None
    on_overview: bool = False
    menu: str = ""
    count: str = ""
    leads: bool = False

    @property
    def cells(self) -> list[tuple[Cell, ...]]:
        """The table with every cell as a `Cell`."""
        return [
            tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row)
            for row in self.rows
        ]


@dataclass(frozen=True)
class HeadNumbers:
    """A number of every head that another run than the scan gave: a view of the board of heads,
    and a line on every head's page.

    Attributes:
        title: what it is, short enough for a switch; about: the same in a sentence.
        task: what it was measured on; names the column of a joined table.
        rows: by layer and head, with intervals and whether they can be told from `line`.
        line: the value that means that nothing happens.
        worth: by layer and head, how much a head matters by it; empty if it does not say.
        tested: whether a row that is sure and has a positive worth was shown to matter by a test.
        removed: heads that a smaller model was made without.
    """

    title: str
    about: str
    task: str
    unit: Unit
    rows: Mapping[Place, Interval]
    line: float = 0.0
    worth: Mapping[Place, float] = field(default_factory=dict)
    tested: bool = False
    removed: frozenset[Place] = frozenset()


@dataclass(frozen=True)
class NextStep:
    """Something that is worth doing after some runs: why, and the command that does it."""

    why: str
    command: str


RunSections = Callable[[list["RunResults"]], Iterable[Section]]
AnalysisSection = Callable[["CorpusView"], Section | None]
CardLines = Callable[["CorpusView", list["RunResults"]], Iterable[tuple[Place, str]]]
Relatives = Callable[["CorpusView"], dict[str, list[tuple[str, float]]]]
NumbersOfHeads = Callable[["CorpusView", list["RunResults"]], Iterable[HeadNumbers]]
NextSteps = Callable[[list["RunResults"]], Iterable[NextStep]]
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
head_numbers: Registry[NumbersOfHeads] = Registry()
"""`@head_numbers(order)`: numbers of a view's heads from the runs of the same model."""
next_steps: Registry[NextSteps] = Registry()
"""`@next_steps(order)`: what is worth doing after some runs, the most telling first."""
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
