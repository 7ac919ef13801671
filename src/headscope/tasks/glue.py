"""GLUE: nine tasks on sentences and pairs of sentences (Wang et al. 2018)."""

from __future__ import annotations

from headscope._util.plugins import did_you_mean
from headscope.corpus import GLUE_TASKS, read
from headscope.errors import HeadscopeError
from headscope.evidence.metrics import ACCURACY, F1, MATTHEWS, PEARSON, SPEARMAN, Metric
from headscope.tasks.base import Task
from headscope.tasks.classification import Classification
from headscope.tasks.registry import TaskRequest, register_task
from headscope.tasks.similarity import Regression

METRICS: dict[str, tuple[Metric, ...]] = {
    "mrpc": (F1, ACCURACY),
    "qqp": (F1, ACCURACY),
    "sts-b": (PEARSON, SPEARMAN),
    "cola": (MATTHEWS,),
}
"""What GLUE reports; accuracy alone where a task is not named."""


@register_task("glue/NAME", choice_part="train")
def make_glue(request: TaskRequest) -> Task:
    """One of GLUE's tasks, from its TSV files or from the hub."""
    name = request.data.lower()
    if name not in GLUE_TASKS:
        near = did_you_mean(name, GLUE_TASKS)
        raise HeadscopeError(f"GLUE has no task {name!r}{near} (it has {', '.join(GLUE_TASKS)})")
    corpus = read(f"glue/{name}", part=request.part, glue_dir=request.glue_dir, limit=request.limit)
    metrics, classes = METRICS.get(name, (ACCURACY,)), GLUE_TASKS[name].classes
    if not classes:
        return Regression(request.name, corpus, metrics)
    return Classification(request.name, corpus, metrics, classes)
