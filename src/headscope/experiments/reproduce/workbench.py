"""What a recipe works with: the model, the inputs, and runs of other experiments that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, cast
from weakref import finalize

from headscope._util.plugins import register
from headscope._util.progress import Progress, ProgressWithin
from headscope.evidence import HeadRow
from headscope.experiments.ablation.tables import AblationRow
from headscope.experiments.reproduce.inputs import Inputs
from headscope.model import Model
from headscope.runs import RunResults

RUNS = "runs"
"""The folder of the runs behind the numbers, in that of the reproduction."""


@dataclass(frozen=True)
class Recomputed:
    """A number that was computed again, in the unit of the paper.

    Attributes:
        label: instead of a value, such as the name of a head.
        apart: why it cannot be compared all the same; empty if it can.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    label: str = ""
    apart: str = ""

    @classmethod
    def of(cls, row: HeadRow, scale: float = 1.0) -> Recomputed:
        """The value of a row.

        Args:
            scale: 100 where the paper prints per cent.
        """
        low, high = (None if one is None else scale * one for one in (row.low, row.high))
        return cls(scale * row.value, low, high, row.n)


Quantities = dict[str, Recomputed]
"""What a recipe computed, by the names that the paper's file uses."""


def paper_name(row: HeadRow | AblationRow) -> str:
    """A head, or a layer, as the papers name it: they count from 1.

    >>> numbers = (3, 9, 2.5, None, None, 8, None, None, None)
    >>> paper_name(HeadRow("wsj", "trained", "focus", "entropy", None, None, *numbers))
    '4-10'
    """
    assert row.layer is not None
    return f"layer {row.layer + 1}" if row.head is None else f"{row.layer + 1}-{row.head + 1}"


def best_of(rows: Iterable[HeadRow]) -> HeadRow:
    """The row with the largest value; the papers choose and score heads on the same data."""
    return max(rows, key=lambda row: row.value)


@dataclass(frozen=True)
class Workbench:
    """What a recipe works with.

    Attributes:
        home: the folder of the reproduction; None keeps runs in memory.
    """

    model: Model
    inputs: Inputs
    home: Path | None
    progress: Progress

    @cached_property
    def folder(self) -> Path:
        """The folder for what must be a file: `home`, or one that goes with the workbench."""
        if self.home is not None:
            return self.home
        temporary = Path(mkdtemp(prefix="headscope-"))
        finalize(self, rmtree, temporary, ignore_errors=True)
        return temporary

    def run(self, name: str, experiment: Callable[..., RunResults], *args: Any, **more: Any) -> Any:
        """Another experiment, whose run is kept under a name and resumed.

        Args:
            experiment: a public function, such as `scan`.
        """
        out = None if self.home is None else self.home / RUNS / name
        return experiment(*args, out=out, progress=ProgressWithin(self.progress), **more)

    def scan(self, name: str, *inputs: str, **more: Any) -> RunResults:
        """A scan of some inputs."""
        from headscope.experiments.scan import scan

        corpora = [self.inputs.corpus(each) for each in inputs]
        results: RunResults = self.run(name, scan, self.model, *corpora, **more)
        return results


@dataclass(frozen=True)
class Recipe:
    """How some numbers of a paper are computed again.

    Attributes:
        inputs: the names of those that it needs.
    """

    inputs: tuple[str, ...]
    follow: Callable[[Workbench], Quantities]


_RECIPES: dict[str, Recipe] = {}


def recipe(
    paper: str, name: str, *inputs: str
) -> Callable[[Callable[[Workbench], Quantities]], Callable[[Workbench], Quantities]]:
    """Register how some numbers of a paper are computed again.

    Args:
        name: as the paper's file has it.
        inputs: the names of those that it needs.
    """

    def add(follow: Callable[[Workbench], Quantities]) -> Callable[[Workbench], Quantities]:
        recipes = cast(dict[str, object], _RECIPES)
        register(recipes, "recipe", f"{paper}/{name}", Recipe(inputs, follow))
        return follow

    return add


def recipe_of(paper: str, name: str) -> Recipe:
    """A recipe of a paper."""
    from importlib import import_module

    import_module(f"headscope.experiments.reproduce.recipes.{paper}")
    return _RECIPES[f"{paper}/{name}"]
