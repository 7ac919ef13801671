"""IMDB: film reviews, good or bad (Maas et al. 2011), in the data set's own folders."""

from __future__ import annotations

from pathlib import Path

from headscope.corpus import read
from headscope.tasks.base import Task
from headscope.tasks.classification import Classification
from headscope.tasks.registry import TaskRequest, register_task


@register_task("imdb:FOLDER")
def make_imdb(request: TaskRequest) -> Task:
    """The part `train` or `test` of the data set; it has no development part."""
    part = "test" if request.part == "dev" else request.part
    corpus = read(f"imdb:{Path(request.data) / part}", limit=request.limit)
    return Classification(request.name, corpus)
