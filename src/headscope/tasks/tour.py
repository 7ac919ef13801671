"""The bundled task: graded pairs of sentences that a model needs no training for."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from headscope.corpus import read
from headscope.tasks.base import Task
from headscope.tasks.registry import TaskRequest, register_task
from headscope.tasks.similarity import Similarity


@register_task("tour")
def make_tour(request: TaskRequest) -> Task:
    """The similarity of the bundled pairs."""
    pairs = Path(str(files("headscope.corpus"))) / "tour" / "pairs.tsv"
    return Similarity(request.name, read(f"tsv:{pairs}", limit=request.limit))
