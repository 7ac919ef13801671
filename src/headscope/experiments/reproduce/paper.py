"""A paper as a data file: the numbers it printed, with their sources, and what computes each again.

One JSON file a paper in `papers/`. Numbers are facts; nothing else of the papers is in the files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import msgspec

from headscope._util.plugins import did_you_mean
from headscope.errors import HeadscopeError

PACKAGE = "headscope.experiments.reproduce"


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
    cannot: str = ""

    @property
    def table(self) -> str:
        """The name by which a user selects it.

        >>> PublishedNumber("Table 1", "det", "accuracy", 94.3, "%", "p. 6").table
        'table1'
        """
        return slug(self.where)


@dataclass(frozen=True)
class Paper:
    """A paper with everything that is compared with.

    Attributes:
        models: that the authors used; the first is the default.
        sources: what the short names in `source` stand for.
        conventions: where the recipes follow the paper instead of headscope's defaults.
        open: what the paper leaves open.
    """

    key: str
    title: str
    models: list[str]
    sources: dict[str, str]
    inputs: dict[str, PaperInput]
    numbers: list[PublishedNumber]
    conventions: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    @property
    def tables(self) -> list[str]:
        """The names of its tables, figures and sections."""
        return list(dict.fromkeys(number.table for number in self.numbers))

    def select(self, tables: Sequence[str]) -> list[PublishedNumber]:
        """The numbers of some tables, or all; a table that does not exist is an error."""
        for name in tables:
            if slug(name) not in self.tables:
                hint = did_you_mean(slug(name), self.tables)
                raise HeadscopeError(
                    f"{self.key} has no {name!r}{hint} (there are {', '.join(self.tables)})"
                )
        wanted = {slug(name) for name in tables} or set(self.tables)
        return [number for number in self.numbers if number.table in wanted]


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

    >>> "clark2019" in papers()
    True
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
