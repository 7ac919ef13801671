"""A task: graded similarity judged by Pearson's correlation alone."""

from __future__ import annotations

from headscope.evidence.metrics import PEARSON
from headscope.plugin import Task, TaskRequest, read, register_task
from headscope.tasks import Similarity


class Rating(Similarity):
    """How similar two texts are, by the cosine of their embeddings."""

    metrics = (PEARSON,)


@register_task("rating:FILE")
def make_rating(request: TaskRequest) -> Task:
    """The pairs of a file with columns for two texts and a score."""
    return Rating(request.name, read(request.data, limit=request.limit))
