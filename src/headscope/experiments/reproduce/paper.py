"""A paper as a data file: the numbers it printed, with their sources, and what computes each again.

One JSON file a paper in `papers/`. Numbers are facts; nothing else of the papers is in the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from itertools import product
from typing import Any

import msgspec

from headscope._util.plugins import did_you_mean
from headscope.errors import HeadscopeError

PACKAGE = "headscope.experiments.reproduce"


class Scope(StrEnum):
    """What a number is about, and so which models it can be compared with."""

    DATA = "data"  # no model takes part in it
    MODEL = "model"  # any model has such a number
    LAYER = "layer"  # models of the same depth have
    HEAD = "head"  # only the model of the paper has that head


@dataclass(frozen=True)
class PaperInput:
    """Data that a recipe needs.

    Attributes:
        about: what it must be; paper: what the authors used.
        default: where it is looked for in the data folder.
        documents: of `default`, those whose id matches one of these patterns; empty: all.
        same: whether `default` is the very data that the authors used.
    """

    about: str
    paper: str
    default: str
    documents: str = ""
    same: bool = False


@dataclass(frozen=True)
class PublishedNumber:
    """A number, or a label, that a paper printed.

    Attributes:
        where: table, figure or section.
        source: page of the paper, or cell of the authors' notebook.
        drawn: whether it was read off a drawing; the paper prints no such number.
        bound: `at least` or `at most` where the paper gives no number but a limit to it.
        recipe: what computes it again, and `quantity`: its name there.
        tolerance: how far outside our interval it may lie and still agree.
        scope: what it is about.
        cannot: why it is not computed again; empty if it is.
    """

    where: str
    row: str
    column: str
    value: float | str
    unit: str
    source: str
    note: str = ""
    drawn: bool = False
    bound: str = ""
    recipe: str = ""
    quantity: str = ""
    tolerance: float = 0.0
    scope: Scope = Scope.MODEL
    cannot: str = ""

    @property
    def table(self) -> str:
        """The name by which a user selects it.

        >>> PublishedNumber("Table 1", "det", "accuracy", 94.3, "%", "p. 6").table
        'table1'
        """
        return slug(self.where)


@dataclass(frozen=True)
class PublishedSeries:
    """The points of a curve or map that a paper draws.

    Attributes:
        axes: the names of its axes and of the places on them, the outermost first.
        values: nested as the axes are; None where a point cannot be read.
        quantity: a name with the axes in braces, `"sep {layer}-{head}"`.
    """

    where: str
    row: str
    axes: dict[str, list[str]]
    values: list[Any]
    unit: str
    source: str
    recipe: str = ""
    quantity: str = ""
    tolerance: float = 0.0
    scope: Scope = Scope.MODEL
    cannot: str = ""

    def points(self) -> Iterator[PublishedNumber]:
        """Its points as numbers.

        >>> series = PublishedSeries("Figure 2", "[SEP]", {"layer": ["1"]}, [0.03], "", "p. 3")
        >>> [point.column for point in series.points()]
        ['layer 1']
        """
        for places in product(*(enumerate(names) for names in self.axes.values())):
            value: Any = self.values
            for place, _ in places:
                value = value[place]
            if value is None:
                continue
            named = dict(zip(self.axes, (name for _, name in places), strict=True))
            yield PublishedNumber(
                self.where,
                self.row,
                ", ".join(f"{axis} {name}" for axis, name in named.items()),
                value,
                self.unit,
                self.source,
                drawn=True,
                recipe=self.recipe,
                quantity=self.quantity.format(**named),
                tolerance=self.tolerance,
                scope=self.scope,
                cannot=self.cannot,
            )


@dataclass(frozen=True)
class Paper:
    """A paper with everything that is compared with.

    Attributes:
        models: that the authors used; the first is the default.
        public: whether these can be loaded.
        depth: layers of these models.
        sources: what the short names in `source` stand for.
        tolerances: what the tolerances of its numbers are made of, in words.
        conventions: where the recipes follow the paper instead of headscope's defaults.
        open: what the paper leaves open, and what the recipes do instead.
    """

    key: str
    title: str
    models: list[str]
    depth: int
    sources: dict[str, str]
    inputs: dict[str, PaperInput]
    numbers: list[PublishedNumber]
    series: list[PublishedSeries] = field(default_factory=list)
    tolerances: list[str] = field(default_factory=list)
    conventions: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    public: bool = True

    @property
    def model(self) -> str:
        """The model that is used where none is named; an error if the authors kept theirs."""
        if not self.public:
            raise HeadscopeError(
                f"the models of {self.key} were not published; name one that is like them (--model)"
            )
        return self.models[0]

    @cached_property
    def everything(self) -> list[PublishedNumber]:
        """The numbers that are printed, then the points of curves and maps."""
        return [*self.numbers, *(point for series in self.series for point in series.points())]

    @property
    def tables(self) -> list[str]:
        """The names of its tables, figures and sections."""
        return list(dict.fromkeys(number.table for number in self.everything))

    def select(self, tables: Sequence[str]) -> list[PublishedNumber]:
        """The numbers of some tables, or all; a table that does not exist is an error."""
        for name in tables:
            if slug(name) not in self.tables:
                hint = did_you_mean(slug(name), self.tables)
                raise HeadscopeError(
                    f"{self.key} has no {name!r}{hint} (there are {', '.join(self.tables)})"
                )
        wanted = {slug(name) for name in tables} or set(self.tables)
        return [number for number in self.everything if number.table in wanted]


def slug(where: str) -> str:
    """The name of a table in lower case, without spaces and what stands in brackets.

    >>> slug("Figure 2, top"), slug("best head per relation (notebook)")
    ('figure2', 'best-head-per-relation')
    """
    name = re.sub(r"\(.*?\)|,.*", "", where.lower()).strip()
    name = re.sub(r"\s+(?=\d)", "", name)
    return re.sub(r"[^a-z0-9.]+", "-", name).strip("-")


@cache
def papers() -> list[str]:
    """The keys of the papers that there are files of.

    >>> papers()
    ['clark2019', 'kobayashi2020', 'kovaleva2019', 'michel2019', 'voita2019']
    """
    names = (file.name for file in (files(PACKAGE) / "papers").iterdir())
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


@cache
def load_paper(key: str) -> Paper:
    """A paper by its key; one that is not there is an error.

    >>> load_paper("clark2019").models
    ['bert-base-uncased']
    """
    if key not in papers():
        hint = did_you_mean(key, papers())
        raise HeadscopeError(f"no paper {key!r}{hint} (there are {', '.join(papers())})")
    text = (files(PACKAGE) / "papers" / f"{key}.json").read_bytes()
    return msgspec.json.decode(text, type=Paper)
