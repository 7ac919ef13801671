"""A task: graded similarity judged by Pearson's correlation alone."""

from __future__ import annotations

from headscope.evidence.metrics import PEARSON
from headscope.plugin import Corpus, Task, TaskRequest, read, register_task
from headscope.tasks import Similarity


class Rating(Similarity):
    """How similar two texts are, by the cosine of their embeddings."""

    def __init__(self, name: str, corpus: Corpus) -> None:
        super().__init__(name, corpus)
        self.metrics = (PEARSON,)


@register_task("rating:FILE")
def make_rating(request: TaskRequest) -> Task:
    """The pairs of a file with columns for two texts and a score."""
    return Rating(request.name, read(request.data, limit=request.limit))
