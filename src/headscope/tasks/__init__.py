"""What a model is to do: data, metric, and what the model must have on top."""

from headscope.tasks.base import Case, CaseBatch, Task
from headscope.tasks.classification import Classification
from headscope.tasks.masked_lm import MaskedLM
from headscope.tasks.registry import task, two_parts
from headscope.tasks.similarity import Regression, Similarity

__all__ = [
    "Case",
    "CaseBatch",
    "Classification",
    "MaskedLM",
    "Regression",
    "Similarity",
    "Task",
    "task",
    "two_parts",
]
