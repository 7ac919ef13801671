"""What identifies a study's model, data and task, for its record."""

from __future__ import annotations

from typing import Any

from headscope.corpus import Corpus
from headscope.experiments.base import versions
from headscope.model import Model
from headscope.runs import DataRecord, ModelRecord, Study, TaskRecord
from headscope.tasks import Task


def model_record(model: Model) -> ModelRecord:
    """What identifies a model."""
    return ModelRecord(**model.describe())


def data_record(corpus: Corpus, part: str | None = None) -> DataRecord:
    """What identifies a corpus, and which part of the data it is."""
    return DataRecord(**corpus.describe(), part=part)


def task_study(
    name: str, model: Model, task: Task, options: dict[str, Any], choice: Task | None = None
) -> Study:
    """What identifies an experiment with one model on one task.

    Args:
        choice: the part of the data that heads are chosen on, if they are.
    """
    return Study(
        model_record(model),
        versions(),
        options,
        experiment=name,
        task=task_record(task),
        choice=task_record(choice) if choice else None,
    )


def task_record(task: Task) -> TaskRecord:
    """What identifies a task."""
    return TaskRecord(
        task.name,
        type(task).__name__,
        data_record(task.corpus),
        [metric.name for metric in task.metrics],
        task.half,
    )
