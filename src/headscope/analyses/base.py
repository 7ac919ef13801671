"""What an analysis is, and the register that makes it appear everywhere by being there."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from headscope.corpus import Annotation, Facts, Pieces, Rules, Survey
from headscope.errors import HeadscopeError
from headscope.evidence import Exemplar, Exemplars, Shape, Statistic, Tally
from headscope.model import Batch, LayerAttention


class Needs(StrEnum):
    """What an analysis cannot do without besides attention and annotation."""

    FREQUENCIES = "frequencies"  # how often each word occurs in it
    VALUES = "values"  # nothing of the corpus: the model's value vectors must be in sight


class Inputs(StrEnum):
    """What the model is shown."""

    TEXTS = "texts"  # as the corpus has them: a sentence, a line, a pair
    WINDOWS = "windows"  # whole sentences of a document packed together
    REPEATED = "repeated"  # no texts of the corpus: random tokens that come twice (decoders)


@dataclass(frozen=True)
class Arc:
    """What a head makes of one word of an example, beside the annotation.

    Attributes:
        source: the word in question.
        gold: the words that the annotation links it to.
        drawn: the word that the head chooses; -1 for none, or none that is shown.
        right: whether that is one that the annotation links it to.
    """

    source: int
    gold: tuple[int, ...]
    drawn: int
    right: bool


@dataclass(frozen=True)
class Scene:
    """A real text with the arcs that a head draws on it."""

    example: str
    words: tuple[str, ...]
    arcs: tuple[Arc, ...]


class Analysis(ABC):
    """Observes attention as it streams by and adds to tallies.

    A subclass has a docstring (its first paragraph explains it in the report), keeps what it
    counts in attributes that are tallies, and is registered by `@analysis("name")`.

    Attributes:
        needs: what it cannot do without besides.
        annotation: what it cannot do without; without it the analysis is left out.
        partly: what a part of it cannot do without, and which part that is.
        inputs: what the model is to be shown.
        shown: the statistic whose best heads are shown at work, on exemplars.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[Needs, ...]] = ()
    annotation: ClassVar[Annotation | None] = None
    partly: ClassVar[dict[Annotation, str]] = {}
    inputs: ClassVar[Inputs] = Inputs.TEXTS
    shown: ClassVar[str | None] = None

    def __init__(self, shape: Shape, survey: Survey) -> None:
        self.shape, self.survey, self.rules = shape, survey, survey.rules
        self.start()

    @classmethod
    def facts(cls, rules: Rules) -> Facts | None:
        """Something that counts what the analysis wants to know of the corpus beforehand."""
        return None

    def begin(self, shard: list[Pieces]) -> None:
        """Look at the texts of a shard before the model does, to choose exemplars."""

    def exemplars(self) -> dict[str, Exemplars]:
        """Examples that a person will want to see, by the group that they are examples of."""
        return {}

    def exemplary(self, group: str | None) -> list[str]:
        """The names of the stores that have examples of a group."""
        return [group or ""]

    def scene(self, exemplar: Exemplar, row: dict[str, Any]) -> Scene:
        """What the head of a row of best.parquet does on an exemplar of its group."""
        raise NotImplementedError(f"{self.name} keeps exemplars but cannot show them")

    def tables(self) -> dict[str, dict[str, list[Any]]]:
        """What is no number per head: columns by the name of the run folder's table."""
        return {}

    @abstractmethod
    def start(self) -> None:
        """Make the tallies."""

    @abstractmethod
    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        """Add what one layer does on one batch."""

    @abstractmethod
    def statistics(self) -> Iterator[Statistic]:
        """What the tallies say."""

    @property
    def tallies(self) -> dict[str, Tally]:
        """The tallies by attribute."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tally)}


Class = TypeVar("Class", bound=type[Analysis])
_ANALYSES: dict[str, type[Analysis]] = {}


def analysis(name: str) -> Callable[[Class], Class]:
    """Register an analysis under a name."""

    def register(kind: Class) -> Class:
        kind.name = name
        _ANALYSES[name] = kind
        return kind

    return register


def analyses() -> dict[str, type[Analysis]]:
    """All analyses by name.

    >>> "focus" in analyses()
    True
    """
    return dict(_ANALYSES)


def about(kind: type) -> tuple[str, str]:
    """What an analysis or an experiment says of itself: in two sentences, and in detail."""
    text = inspect.cleandoc(kind.__doc__ or "").partition("\n\nAttributes:")[0]
    first, _, rest = text.partition("\n\n")
    return " ".join(first.split()), " ".join(rest.split())


def described(name: str, kind: type, found: list[Statistic]) -> dict[str, Any]:
    """What a run's record keeps of the numbers of an analysis or an experiment."""
    short, details = about(kind)
    return {"analysis": name, "about": short, "details": details,
            "statistics": [one.describe() for one in found]}  # fmt: skip


def choose(names: list[str] | None) -> list[type[Analysis]]:
    """The analyses of these names, or all; a name that does not exist is an error.

    >>> [kind.name for kind in choose(["focus"])]
    ['focus']
    """
    unknown = [name for name in names or () if name not in _ANALYSES]
    if unknown:
        known = ", ".join(_ANALYSES)
        raise HeadscopeError(f"no analysis is called {unknown[0]!r}; there are {known}")
    return [kind for name, kind in _ANALYSES.items() if names is None or name in names]
