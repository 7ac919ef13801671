"""What fine-tuning writes: the record beside the model, and the table of several trainings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headscope.evidence.metrics import Score
from headscope.runs import TaskRecord

COMPLETE, RUNNING = "complete", "running"
UNTRAINED_TOP = "frozen, untrained head"
COLUMNS = ("task", "metric", "guessing", UNTRAINED_TOP, "frozen", "random", "pretrained")
"""The three starts of Kovaleva et al. (2019, table 1). Their numbers for frozen weights are like
those of an untrained classifier, so the table has both.
"""


@dataclass(frozen=True)
class TrainingStudy:
    """What identifies a training: the same study gives the same model.

    Attributes:
        recipe: see `Hyperparameters.describe`.
    """

    model: str
    recipe: dict[str, str | float]
    train: TaskRecord
    dev: TaskRecord


@dataclass(frozen=True)
class TrainingRecord:
    """Everything in `headscope.json`, the record beside a fine-tuned model.

    Attributes:
        untrained, trained: the metrics on the development part before and after training.
    """

    status: str
    study: TrainingStudy
    untrained: list[Score]
    trained: list[Score] = field(default_factory=list)

    def completed(self, trained: list[Score]) -> TrainingRecord:
        """The record of the finished training."""
        return replace(self, status=COMPLETE, trained=trained)


@dataclass(frozen=True)
class FineTuningRow:
    """A metric of one fine-tuned model on its development part.

    Attributes:
        start: one of the last four of `COLUMNS`.
        seed, folder: where there are several trainings.
    """

    task: str
    start: str
    score: Score
    seed: int | None = None
    folder: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As one flat object."""
        place = {"task": self.task, "seed": self.seed, "folder": self.folder, "start": self.start}
        return {name: value for name, value in place.items() if value is not None} | asdict(
            self.score
        )


def table_cells(rows: Iterable[FineTuningRow]) -> list[tuple[str, ...]]:
    """The table as text, in per cent: a line per task and metric, the columns `COLUMNS`.

    >>> score = Score("accuracy", 0.912, 0.9, 0.924, 0.006, 100, 1, True, 0.5)
    >>> table_cells([FineTuningRow("glue/sst-2", "pretrained", score)])
    [('glue/sst-2', 'accuracy', '50.0', '-', '-', '-', '91.2 [90.0, 92.4]')]
    """
    by_line: dict[tuple[str, str], list[FineTuningRow]] = {}
    for row in rows:
        by_line.setdefault((row.task, row.score.metric), []).append(row)
    lines = []
    for (task, metric), same in by_line.items():
        guessing = same[0].score.nothing
        values = (_cell([row.score for row in same if row.start == start]) for start in COLUMNS[3:])
        lines.append((task, metric, "-" if guessing is None else _percent(guessing), *values))
    return lines


def _cell(scores: list[Score]) -> str:
    """The interval of one training, or the mean of several and each of them."""
    if not scores:
        return "-"
    mean = _percent(sum(score.value for score in scores) / len(scores))
    if len(scores) == 1:
        return f"{mean} [{_percent(scores[0].low)}, {_percent(scores[0].high)}]"
    seeds = ", ".join(_percent(score.value) for score in scores)
    return f"{mean} ({len(scores)} seeds: {seeds})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
