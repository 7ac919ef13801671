"""The record of a run, as `run.json` holds it: what was run, on what, and what came of it."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from headscope._util.naming import SELF
from headscope.errors import RunError
from headscope.evidence import UNITS, Statistic, Unit

FORMAT = 8
"""The version of the run folder's schema. A new table or key leaves old folders readable."""
READABLE = (7, 8)
COMPLETE, RUNNING = "complete", "running"
RENAMED_TABLES = {"chosen": "best"}
"""Tables that format 7 called otherwise."""
OPTIONAL = {"optional": True}
"""Marks a field that `run.json` leaves out where it is empty."""
Summary = TypeVar("Summary")


@dataclass(frozen=True)
class ModelRecord:
    """What identifies a model.

    Attributes:
        attentions: with an encoder and a decoder, the numbers of heads of the layers of each kind
            of attention; `layers` then counts all of them.
    """

    name: str
    family: str
    layers: int
    heads: int
    max_length: int
    parameters: int
    sha256: str
    whole_sha256: str | None
    dtype: str
    attentions: dict[str, list[int]] = field(default_factory=dict, metadata=OPTIONAL)

    @property
    def shape(self) -> str:
        """Its layers and heads in words."""
        if not self.attentions:
            return f"{self.layers} layers of {self.heads} heads"
        kinds = (f"{len(heads)} {kind}" for kind, heads in self.attentions.items())
        return f"{', '.join(kinds)} layers of {self.heads} heads"

    def head_counts(self, attention: str) -> list[int]:
        """The number of heads of every layer with a kind of attention."""
        return self.attentions.get(attention) or [self.heads] * self.layers


@dataclass(frozen=True)
class DataRecord:
    """What identifies a corpus: its files' contents, not their paths."""

    name: str
    reader: str
    files: list[str]
    sha256: list[str]
    limit: int | None
    documents: str | None
    part: str | None = None


@dataclass(frozen=True)
class TaskRecord:
    """What identifies a task."""

    name: str
    kind: str
    data: DataRecord
    metrics: list[str]
    half: int | None = None


@dataclass(frozen=True)
class Study:
    """What identifies a study: the same study gives the same numbers.

    Attributes:
        models: by the value of the column `weights`, where a run has several.
        choice: the task that something was chosen by, where that is another than `task`.
        options: as JSON has them; each experiment knows its own.
    """

    model: ModelRecord
    versions: dict[str, str]
    options: dict[str, Any]
    experiment: str = "scan"
    models: dict[str, ModelRecord] = field(default_factory=dict, metadata=OPTIONAL)
    data: list[DataRecord] = field(default_factory=list, metadata=OPTIONAL)
    analyses: list[str] = field(default_factory=list, metadata=OPTIONAL)
    task: TaskRecord | None = None
    choice: TaskRecord | None = None

    @property
    def about(self) -> TaskRecord:
        """The task of a study that has one."""
        assert self.task is not None
        return self.task

    def is_of(self, model: ModelRecord) -> bool:
        """Whether this model, or its encoder under something else, is one of the study's."""
        return model.sha256 in {each.sha256 for each in (self.models or {"": self.model}).values()}

    def same_model_and_task(self, other: Study) -> bool:
        """Whether two studies are of one model, with the same on top, on the same task."""
        mine, its = self.model, other.model
        same_model = (mine.sha256, mine.whole_sha256) == (its.sha256, its.whole_sha256)
        return same_model and self.about.name == other.about.name


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes that a reader must know to judge the numbers.

    Attributes:
        longest: pieces of the longest text; cut: texts that were cut; lost: pieces cut off.
        buckets: groups of documents that are not empty.
    """

    examples: int
    pieces: int
    longest: int
    cut: int
    lost: int
    buckets: int


@dataclass(frozen=True, kw_only=True)
class WindowsRecord(Sizes):
    """A corpus packed into windows of at most `limit` pieces."""

    limit: int


@dataclass(frozen=True, kw_only=True)
class CorpusRecord(Sizes):
    """A corpus, which model of the run read it, and which of its kinds of attention was watched."""

    corpus: str
    weights: str
    attention: str = SELF
    windows: WindowsRecord | None = None


@dataclass(frozen=True)
class StatisticRecord:
    """What a statistic of an analysis means."""

    statistic: str
    direction: str | None
    groups: list[str]
    unit: str
    about: str
    headlines: dict[str, str]

    @classmethod
    def of(cls, statistic: Statistic) -> StatisticRecord:
        """The description of a statistic."""
        return cls(
            statistic.name,
            statistic.direction,
            list(statistic.groups),
            statistic.unit.name,
            statistic.about,
            dict(statistic.headlines),
        )


@dataclass(frozen=True)
class AnalysisRecord:
    """What an analysis says of itself, and its statistics."""

    analysis: str
    about: str
    details: str
    statistics: list[StatisticRecord]


@dataclass
class Record:
    """Everything in `run.json`.

    Attributes:
        units: those of the statistics, by name.
        left_out: by corpus, the analyses that could not be done and why.
        summary: what the experiment itself has to say; at the top level of `run.json`.
    """

    study: Study
    command: list[str] = field(default_factory=list)
    system: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT
    status: str = RUNNING
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    threads: int | None = None
    tables: list[str] = field(default_factory=list)
    units: dict[str, Unit] = field(default_factory=dict)
    analyses: list[AnalysisRecord] = field(default_factory=list)
    corpora: list[CorpusRecord] = field(default_factory=list)
    left_out: dict[str, dict[str, str]] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)

    def unit(self, name: str) -> Unit:
        """A unit by name."""
        return self.units[name] if name in self.units else UNITS[name]

    def summary_as(self, kind: type[Summary]) -> Summary:
        """What the experiment has to say, as the dataclass that it declares for it."""
        return convert(self.summary, kind, "its summary")

    def to_json(self) -> dict[str, Any]:
        """As `run.json` has it."""
        plain = {name: value for name, value in as_json(self).items() if name != "summary"}
        return plain | self.summary

    @classmethod
    def from_json(cls, plain: Any) -> Record:
        """A record of this format or of an older one that can be read."""
        if not isinstance(plain, dict) or not isinstance(plain.get("study"), dict):
            raise RunError("it is not the record of a run")
        if plain.get("format") not in READABLE:
            raise RunError("it was written by another version of headscope; run it again")
        known = {each.name for each in dataclasses.fields(cls)} - {"summary"}
        common = {name: value for name, value in plain.items() if name in known}
        common["summary"] = {name: value for name, value in plain.items() if name not in known}
        record = convert(common, cls, "its record")
        record.tables = [RENAMED_TABLES.get(name, name) for name in record.tables]
        return record


def convert(plain: Any, kind: type[Summary], what: str) -> Summary:
    """JSON as a dataclass; an error in words where it does not fit."""
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise RunError(f"{what} is damaged ({error})") from None


def read_record(folder: Path) -> Record:
    """The record of a run folder, finished or not."""
    path = folder / "run.json"
    try:
        plain = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise RunError(f"{folder} is not a run folder: it has no readable run.json") from None
    try:
        return Record.from_json(plain)
    except RunError as error:
        raise RunError(f"{path}: {error}") from None


def study_to_json(study: Study) -> dict[str, Any]:
    """A study as `run.json` has it: what does not apply is not there."""
    plain: dict[str, Any] = json.loads(json.dumps(as_json(study)))
    return plain


def as_json(value: Any) -> Any:
    """Dataclasses as dicts, at any depth, without optional fields that are not set."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: as_json(getattr(value, each.name))
            for each in dataclasses.fields(value)
            if not _unset(each, getattr(value, each.name))
        }
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value


def _unset(each: dataclasses.Field[Any], value: Any) -> bool:
    """Whether an optional part is not there."""
    return (value is None and each.default is None) or ("optional" in each.metadata and not value)
