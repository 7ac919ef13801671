"""Experiments on a task's cases, done in shards that are kept, whatever is measured."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from headscope._util.naming import SELF
from headscope._util.progress import Progress
from headscope.analyses import describe_class
from headscope.corpus import bucket_of
from headscope.evidence import ShardResult, Statistic
from headscope.experiments._shared.identity import task_study
from headscope.experiments._shared.layouts import layout_of
from headscope.experiments.base import Experiment
from headscope.experiments.scan.gather import corpus_record
from headscope.model import Model
from headscope.runs import ResultBuilder, RunFolder, Study, run
from headscope.tasks import Case, Task

SHARD = 256
"""Cases that are kept at a time: what a kill costs."""
Measured = tuple[str, type, Sequence[Statistic]]
"""A name, the class whose docstring explains it, and its statistics."""


class CaseExperiment(Experiment):
    """A task's cases in a random order, in shards, and what was gathered from those done.

    Attributes:
        column: the column of a shard's result that has one row per case.
        max_length: pieces that texts are cut to.
        merged: after `run_cases`, the merged results of all shards.
    """

    column: ClassVar[str]

    def __init__(
        self, model: Model, task: Task, *, max_length: int | None = None, seed: int = 0
    ) -> None:
        self.model, self.task, self.max_length, self.seed = model, task, max_length, seed
        model.check_length(max_length)
        self.layout = layout_of(model)

    def options(self) -> dict[str, Any]:
        """What of the study's options is its own."""
        return {}

    def study(self) -> Study:
        """What identifies the experiment."""
        options = self.options() | {"max_length": self.max_length, "seed": self.seed}
        return task_study(self.name, self.model, self.task, options)

    def prepare(self, progress: Progress) -> None:
        """Encode the cases."""
        self.progress = progress
        examples = list(self.task.examples)
        random.Random(self.seed).shuffle(examples)
        self.cases = self.task.cases(self.model, examples, self.max_length)
        self.parts = [self.cases[at : at + SHARD] for at in range(0, len(self.cases), SHARD)]

    def run_cases(self, folder: RunFolder | None, part: int = 0, title: str = "") -> None:
        """Work off all cases; what is in the folder already is not done again.

        Args:
            part: which part of the run folder's work it is.
            title: of the progress bar.
        """
        title = title or f"{self.model.name} on {self.task.name}"
        self.progress.begin(title, len(self.cases))
        self.merged = run(self.parts, self.work, folder, part, self)
        self.progress.end()

    def skip(self, result: ShardResult) -> None:
        """Count what an earlier process had done as done."""
        self.progress.advance(len(result.columns[self.column]))

    @abstractmethod
    def work(self, cases: list[Case]) -> ShardResult:
        """What some cases give."""

    @property
    def buckets(self) -> list[int]:
        """The bucket of every case, by its document."""
        return [bucket_of(case.example.unit) for case in self.cases]

    def results(self, *measured: Measured) -> ResultBuilder:
        """Statistics as tables, with the sizes of what was read."""
        builder = ResultBuilder(self.layout)
        place = (self.task.name, self.model.weights)
        for name, kind, statistics in measured:
            builder.add_statistics(name, describe_class(kind), statistics, *place)
        texts = [text for case in self.cases for text in case.texts]
        for attention in dict.fromkeys(self.model.attentions or (SELF,)):
            record = corpus_record(*place, attention, texts, len(self.cases))
            builder.corpora[*place, attention] = record
        return builder
