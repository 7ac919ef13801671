"""Naming a task: `glue/mrpc`, `similarity:FILE`, `classify:FILE`, `masked-lm:DATA`, `tour`."""

from __future__ import annotations

from importlib.resources import files as resources
from pathlib import Path

from headscope.corpus import GLUE_TASKS, read
from headscope.errors import HeadscopeError
from headscope.evidence.metrics import ACCURACY, F1, MATTHEWS, PEARSON, SPEARMAN, Metric
from headscope.tasks.base import Task
from headscope.tasks.classification import Classification
from headscope.tasks.masked_lm import MaskedLM
from headscope.tasks.similarity import Regression, Similarity

GLUE_METRICS: dict[str, tuple[Metric, ...]] = {
    "mrpc": (F1, ACCURACY),
    "qqp": (F1, ACCURACY),
    "sts-b": (PEARSON, SPEARMAN),
    "cola": (MATTHEWS,),
}
"""What GLUE reports; accuracy alone where a task is not named."""
KINDS = "glue/NAME, similarity:FILE, classify:FILE, imdb:FOLDER, masked-lm:DATA or 'tour'"


def task(
    name: str,
    *,
    part: str = "dev",
    glue_dir: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Task:
    """A task by name; its examples are read at once.

    Args:
        part: `train` or `dev` (or the name of a file) of GLUE, `train` or `test` of IMDB.
        glue_dir: the folder with GLUE's TSV files; None: the hub.
        limit: only the first so many examples.

    >>> task("tour").metrics[0].name
    'Spearman'
    """
    kind, colon, rest = name.partition(":")
    if name == "tour":
        pairs = Path(str(resources("headscope.corpus"))) / "tour" / "pairs.tsv"
        return Similarity(name, read(f"tsv:{pairs}", limit=limit))
    if kind.startswith("glue/"):
        return _glue(name, kind.removeprefix("glue/").lower(), part, glue_dir, limit)
    if not colon:
        raise HeadscopeError(f"there is no task {name!r}; TASK is {KINDS}")
    if kind == "similarity":
        return Similarity(name, read(rest, limit=limit, part=part, glue_dir=glue_dir))
    if kind == "classify":
        return Classification(name, read(rest, limit=limit))
    if kind == "imdb":
        folder = "test" if part == "dev" else part
        return Classification(name, read(f"imdb:{Path(rest) / folder}", limit=limit))
    if kind == "masked-lm":
        return MaskedLM(name, read(rest, limit=limit, part=part, glue_dir=glue_dir), seed)
    raise HeadscopeError(f"there is no task {name!r}; TASK is {KINDS}")


def two_parts(
    name: str,
    *,
    choose: str | None = None,
    part: str = "dev",
    glue_dir: str | Path | None = None,
    limit: int | None = None,
    choose_limit: int | None = None,
    seed: int = 0,
) -> tuple[Task, Task]:
    """A task on data to choose something by, and on data that has no part in the choice.

    Args:
        choose: another task to choose by (its part `train`), or another part of the same; None:
            for GLUE the part `train`, for other tasks one half of their documents, the other half
            being what is left.
        choose_limit: choose by the first so many examples.

    >>> choice, test = two_parts("tour")
    >>> len(choice.examples) + len(test.examples) == len(task("tour").examples)
    True
    """
    tested = task(name, part=part, glue_dir=glue_dir, limit=limit, seed=seed)
    if choose is None and not name.startswith("glue/"):
        return tested.halves()
    other, of = name, "train"
    if choose is not None and (":" in choose or "/" in choose):
        other = choose
    elif choose is not None:
        of = choose
    return task(other, part=of, glue_dir=glue_dir, limit=choose_limit, seed=seed), tested


def _glue(name: str, kind: str, part: str, glue_dir: str | Path | None, limit: int | None) -> Task:
    if kind not in GLUE_TASKS:
        raise HeadscopeError(f"GLUE has no {kind!r}; it has {', '.join(GLUE_TASKS)}")
    corpus = read(f"glue/{kind}", part=part, glue_dir=glue_dir, limit=limit)
    metrics = GLUE_METRICS.get(kind, (ACCURACY,))
    classes = GLUE_TASKS[kind].classes
    if not classes:
        return Regression(name, corpus, metrics)
    return Classification(name, corpus, metrics, classes)
