"""What a model is to do: data, metric, and what the model must have on top.

A new file here that registers a kind of task is found by itself, and so is one that another package
declares as an entry point `headscope.tasks`. The names below are imported on first use.
"""

from typing import TYPE_CHECKING

from headscope._util.lazy import attach

if TYPE_CHECKING:
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

_MODULES = {
    "Case": "headscope.tasks.base",
    "CaseBatch": "headscope.tasks.base",
    "Classification": "headscope.tasks.classification",
    "MaskedLM": "headscope.tasks.masked_lm",
    "Regression": "headscope.tasks.similarity",
    "Similarity": "headscope.tasks.similarity",
    "Task": "headscope.tasks.base",
    "TaskKind": "headscope.tasks.registry",
    "TaskRequest": "headscope.tasks.registry",
    "register_task": "headscope.tasks.registry",
    "task": "headscope.tasks.registry",
    "task_kinds": "headscope.tasks.registry",
    "two_parts": "headscope.tasks.registry",
}
if not TYPE_CHECKING:  # a type checker must not accept every name
    __getattr__, __dir__ = attach(__name__, _MODULES)
