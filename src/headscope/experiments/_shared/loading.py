"""Loading what an experiment on a task needs."""

from __future__ import annotations

from pathlib import Path

from headscope.model import Model, load
from headscope.tasks import Task
from headscope.tasks import task as task_named


def load_for(model: Model | str | Path, task: Task | str) -> tuple[Model, Task]:
    """A model and a task; a model given by name is loaded with what the task needs on top."""
    task = task if isinstance(task, Task) else task_named(task)
    return model if isinstance(model, Model) else load(model, top=task.top), task
