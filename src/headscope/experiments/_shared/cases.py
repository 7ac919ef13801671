"""Work on a task's cases in parts that are kept as they are done, whatever is measured."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import ClassVar

from headscope._util.progress import NoProgress, Progress
from headscope.corpus import BUCKETS, bucket_of
from headscope.evidence import Harvest, Shape
from headscope.model import Model
from headscope.tasks import Case, Task

SHARD = 256
"""Cases that are kept at a time: what a kill costs."""


@dataclass(kw_only=True)
class CaseWork:
    """A task's cases in a random order, in parts, and what was gathered from those done.

    Attributes:
        column: of the harvest, that has a row for every case.
        max_length: pieces that texts are cut to.
    """

    column: ClassVar[str]

    model: Model
    task: Task
    max_length: int | None = None
    seed: int = 0
    progress: Progress = field(default_factory=NoProgress)

    def __post_init__(self) -> None:
        examples = list(self.task.examples)
        random.Random(self.seed).shuffle(examples)
        self.cases = self.task.cases(self.model, examples, self.max_length)
        self.parts = [self.cases[at : at + SHARD] for at in range(0, len(self.cases), SHARD)]
        self.shape = Shape(BUCKETS, self.model.layers, self.model.heads)
        self.harvest = Harvest()

    def skip(self, harvest: Harvest) -> None:
        """What an earlier process had done counts as done."""
        self.progress.advance(len(harvest.columns[self.column]))

    def work(self, cases: list[Case]) -> Harvest:
        """What some cases give."""
        raise NotImplementedError

    @property
    def buckets(self) -> list[int]:
        """The bucket of every case, by its document."""
        return [bucket_of(case.example.unit) for case in self.cases]
