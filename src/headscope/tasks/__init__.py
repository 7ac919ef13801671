"""What a model is to do: data, metric, and what the model must have on top.

A new file here that registers a kind of task is found by itself, and so is one that another package
declares as an entry point `headscope.tasks`.
"""

from headscope.tasks.base import Case, CaseBatch, Task
from headscope.tasks.classification import Classification
from headscope.tasks.masked_lm import MaskedLM
from headscope.tasks.registry import (
    TaskKind,
    TaskRequest,
    register_task,
    task,
    task_kinds,
    two_parts,
)
from headscope.tasks.similarity import Regression, Similarity

__all__ = [
    "Case",
    "CaseBatch",
    "Classification",
    "MaskedLM",
    "Regression",
    "Similarity",
    "Task",
    "TaskKind",
    "TaskRequest",
    "register_task",
    "task",
    "task_kinds",
    "two_parts",
]
