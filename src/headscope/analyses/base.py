"""What an analysis is, and the register that makes it appear everywhere by being there."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import ClassVar, TypeVar

from headscope.corpus import Survey
from headscope.errors import HeadscopeError
from headscope.evidence import Shape, Statistic, Tally
from headscope.model import Batch, LayerAttention


class Needs(StrEnum):
    """What an analysis wants to know of the corpus before the pass."""

    FREQUENCIES = "frequencies"  # how often each word occurs in it


class Analysis(ABC):
    """Observes attention as it streams by and adds to tallies.

    A subclass has a docstring (its first paragraph explains it in the report), keeps what it
    counts in attributes that are tallies, and is registered by `@analysis("name")`.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[Needs, ...]] = ()

    def __init__(self, shape: Shape, survey: Survey) -> None:
        self.shape, self.survey = shape, survey
        self.start()

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


def about(kind: type[Analysis]) -> tuple[str, str]:
    """What an analysis says of itself: in two sentences, and in detail."""
    first, _, rest = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")
    return " ".join(first.split()), " ".join(rest.split())


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
