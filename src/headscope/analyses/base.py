"""What an analysis is, and the registry that makes it appear everywhere by being there."""

from __future__ import annotations

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, TypeVar, cast

from headscope._util.plugins import did_you_mean, load_plugins, register
from headscope.corpus import Annotation, Conventions, CorpusFacts, Pieces, Survey
from headscope.errors import HeadscopeError
from headscope.evidence import (
    Candidates,
    Exemplar,
    Exemplars,
    Layout,
    Mean,
    RankedExample,
    RoleRule,
    Statistic,
    Table,
    Tally,
)
from headscope.evidence.ranked_examples import Number
from headscope.model.attention import SELF, Kind, Request, Seen, View


class Needs(StrEnum):
    """What an analysis cannot do without, besides attention and annotation."""

    FREQUENCIES = "frequencies"  # how often each word occurs
    VALUES = "values"  # the model's value vectors


class Inputs(StrEnum):
    """What the model is shown."""

    TEXTS = "texts"  # as the corpus has them: a sentence, a line, a pair
    WINDOWS = "windows"  # whole sentences of a document packed together
    REPEATED = "repeated"  # no texts of the corpus: random tokens that come twice (decoders)


@dataclass(frozen=True)
class Arc:
    """What a head makes of one word or token of an example, beside the annotation.

    Attributes:
        source: the word in question.
        gold: the words that the annotation links it to; empty where nothing is annotated.
        drawn: the word that the head chooses; -1 for none, or none that is shown.
        right: whether that is one that the annotation links it to.
        weight: of the head's choice, where it is known.
    """

    source: int
    gold: tuple[int, ...]
    drawn: int
    right: bool
    weight: float | None = None


@dataclass(frozen=True)
class Scene:
    """A real text with the arcs that a head draws on it.

    Attributes:
        queries: the words of the text that looks, where it is another than that looked at.
    """

    example: str
    words: tuple[str, ...]
    arcs: tuple[Arc, ...]
    queries: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScoredMean:
    """A mean by whose value on one text examples of a statistic are chosen.

    Attributes:
        groups: the groups that are worth examples ("": it has none), and their columns.
    """

    statistic: str
    mean: Mean
    groups: Mapping[str, int]
    direction: str | None = None


@dataclass(frozen=True)
class NoOptions:
    """The options of an analysis that has none."""


def option(default: Any, help: str) -> Any:
    """A field of an analysis's options: its default, and its help text on the command line."""
    return field(default=default, metadata={"help": help})


class Analysis(ABC):
    """Asks for quantities of rows of attention and adds the answers to tallies.

    A subclass has a docstring (its first paragraph explains it in the report), says in `ask` what
    it needs to know, keeps what it counts in attributes that are means or tallies, and is
    registered by `@analysis("name")`. One object sees one kind of attention. It brings all of its
    own: what follows is everything that the command line, the run folder, the report and the head
    cards know of it.

    Attributes:
        kinds: the kinds of attention that it makes sense for.
        options_type: a frozen dataclass whose fields are made by `option`.
        tables: tables that it fills besides its numbers per head.
        roles: the rules by which a head earns a role.
        page: the module with its section of the report, imported when a page is made.
        needs: what it cannot do without, besides attention and annotation.
        annotation: the annotation without which it is left out.
        optional_annotation: annotation that a part of it needs, and which part that is.
        inputs: what the model is to be shown.
    """

    name: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]] = SELF
    options_type: ClassVar[type[Any]] = NoOptions
    tables: ClassVar[tuple[Table[Any], ...]] = ()
    roles: ClassVar[tuple[RoleRule, ...]] = ()
    page: ClassVar[str | None] = None
    needs: ClassVar[tuple[Needs, ...]] = ()
    annotation: ClassVar[Annotation | None] = None
    optional_annotation: ClassVar[Mapping[Annotation, str]] = {}
    inputs: ClassVar[Inputs] = Inputs.TEXTS

    def __init__(self, layout: Layout, survey: Survey, options: Any = None) -> None:
        self.layout, self.survey = layout, survey
        self.conventions = survey.conventions
        self.options = self.options_type() if options is None else options
        self.make_tallies()

    @classmethod
    def corpus_facts(cls, options: Any, conventions: Conventions) -> CorpusFacts | None:
        """Something that counts what the analysis must know of the corpus beforehand."""
        return None

    def begin_shard(self, shard: list[Pieces]) -> None:
        """Look at the texts of a shard before the model does."""

    def begin_examples(self, shard: list[Pieces]) -> None:
        """Look at the texts of a shard that could be shown later; not called if none will be."""

    def scored_means(self) -> Iterator[ScoredMean]:
        """Means by which examples are chosen: those on which a head's own mean is highest, usual
        and lowest. What is drawn is where each token looks most.
        """
        return iter(())

    def candidates(self) -> Iterator[Candidates]:
        """Texts of the shard that could be shown, with a score for every head, where examples are
        chosen or drawn in a way of its own.
        """
        return iter(())

    def render_example(self, example: RankedExample, number: Number) -> Scene:
        """What a head does on an example of a statistic, direction and group."""
        tokens, queries = example.record["tokens"], example.record.get("queries", ())
        places, levels = example.drawn.reshape(2, -1)
        looks = zip(places.tolist(), levels.tolist(), strict=True)
        arcs = tuple(
            Arc(query, (), place, False, round(level / 255, 3))
            for query, (place, level) in enumerate(looks)
        )
        return Scene(example.id, tuple(tokens), arcs, tuple(queries))

    def exemplars(self) -> dict[str, Exemplars]:
        """Further stores of texts that are chosen by hash, by name."""
        return {}

    def label_map(self, exemplar: Exemplar, layer: int, head: int) -> tuple[str, float]:
        """The likeliest label of a map, and how likely it is, from `exemplars()["maps"]`."""
        raise NotImplementedError(f"{self.name} keeps labels of maps but cannot tell them")

    def table_rows(self, corpus: str, weights: str) -> Iterator[object]:
        """The rows of `tables`: instances of their row classes."""
        return iter(())

    @abstractmethod
    def make_tallies(self) -> None:
        """Make the tallies."""

    @abstractmethod
    def ask(self, view: View) -> dict[str, Request]:
        """The requests for every site with this view, by name; {}: nothing."""

    def observe(self, seen: Seen) -> None:
        """Add what was seen at one site of one batch.

        As it is, every `Mean` with the name of a request takes its sums, counts and baseline.
        """
        for name in seen.requests:
            mean = getattr(self, name, None)
            if isinstance(mean, Mean):
                uniform = None if mean.baseline is None else seen.uniform(name)
                mean.add(seen, seen[name], seen.counts(name), uniform)

    @abstractmethod
    def statistics(self) -> Iterator[Statistic]:
        """What the tallies say."""

    @property
    def tallies(self) -> dict[str, Tally]:
        """The tallies by name: those of its attributes, and both of a mean."""
        tallies = {}
        for name, value in vars(self).items():
            if isinstance(value, Tally):
                tallies[name] = value
            elif isinstance(value, Mean):
                tallies[name] = value.tally
                if value.baseline is not None:
                    tallies[f"{name} baseline"] = value.baseline
        return tallies

    def restore(self, tallies: Mapping[str, Tally]) -> None:
        """Take tallies that were kept, by the names of `tallies`."""
        for name, value in list(vars(self).items()):
            if isinstance(value, Tally):
                setattr(self, name, tallies[name])
            elif isinstance(value, Mean):
                value.tally = tallies[name]
                if value.baseline is not None:
                    value.baseline = tallies[f"{name} baseline"]


Class = TypeVar("Class", bound=type[Analysis])
_ANALYSES: dict[str, type[Analysis]] = {}


def analysis(name: str) -> Callable[[Class], Class]:
    """Register an analysis under a name; a name that is taken is an error."""

    def add(kind: Class) -> Class:
        register(cast(dict[str, object], _ANALYSES), "analysis", name, kind)
        kind.name = name
        return kind

    return add


def analyses() -> dict[str, type[Analysis]]:
    """All analyses by name: those of the package, then those of plug-ins.

    >>> "focus" in analyses()
    True
    """
    import headscope.analyses as package

    for module in iter_modules(package.__path__):
        if not module.name.startswith("_"):
            import_module(f"{package.__name__}.{module.name}")
    load_plugins("analyses")
    return dict(_ANALYSES)


def describe_class(kind: type) -> tuple[str, str]:
    """What an analysis or an experiment says of itself: in two sentences, and in detail."""
    text = inspect.cleandoc(kind.__doc__ or "").partition("\n\nAttributes:")[0]
    first, _, rest = text.partition("\n\n")
    return " ".join(first.split()), " ".join(rest.split())


def choose(only: Sequence[str | type[Analysis]] | None) -> list[type[Analysis]]:
    """The analyses of these names, or all; a name that does not exist is an error.

    Args:
        only: names, or classes, which need not be registered.

    >>> [kind.name for kind in choose(["focus"])]
    ['focus']
    """
    registered = analyses()
    names = [each for each in only or () if isinstance(each, str)]
    for name in names:
        if name not in registered:
            hint = did_you_mean(name, registered)
            raise HeadscopeError(
                f"no analysis is called {name!r}{hint} (there are {', '.join(registered)})"
            )
    named = [kind for name, kind in registered.items() if only is None or name in names]
    return named + [each for each in only or () if not isinstance(each, str)]


def resolve_options(given: Mapping[str, object]) -> dict[str, Any]:
    """Options by the name of the analysis, from mappings or typed objects.

    >>> resolve_options({"dependencies": {"possessive": True}})["dependencies"].possessive
    True
    """
    registered = analyses()
    resolved = {}
    for name, value in given.items():
        if name not in registered:
            hint = did_you_mean(name, registered)
            raise HeadscopeError(f"options for {name!r}, which is no analysis{hint}")
        kind = registered[name].options_type
        if isinstance(value, kind):
            resolved[name] = value
            continue
        if not isinstance(value, Mapping):
            raise HeadscopeError(f"options of {name} are a mapping or a {kind.__name__}")
        fields = {option.name: option for option in dataclasses.fields(kind)}
        for key in value:
            if key not in fields:
                hint = did_you_mean(str(key), fields)
                there = f"it has {', '.join(fields)}" if fields else "it has none"
                raise HeadscopeError(f"{name} has no option {key!r}{hint} ({there})")
        resolved[name] = kind(**value)
    return resolved
