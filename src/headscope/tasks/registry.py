"""Tasks by name: `glue/mrpc`, `similarity:FILE`, `classify:FILE`, `causal-lm:DATA`, `tour`.

One file registers one kind of task; a file of another package does so too, declared as an entry
point `headscope.tasks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import cast

from headscope._util.plugins import did_you_mean, load_plugins, register
from headscope.errors import HeadscopeError
from headscope.tasks.base import Task


@dataclass(frozen=True)
class TaskRequest:
    """What a user asked for.

    Attributes:
        name: as the user wrote it.
        data: what follows the kind: `mrpc` of `glue/mrpc`, the file of `classify:FILE`.
        part: of the data, where they come in parts.
        glue_dir: the folder with GLUE's TSV files; None: the hub.
        limit: only the first examples, this many.
        seed: of what is drawn at random.
    """

    name: str
    data: str
    part: str = "dev"
    glue_dir: str | Path | None = None
    limit: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class TaskKind:
    """A kind of task: how it is written, and what makes it.

    Attributes:
        form: as it stands in help texts, `classify:FILE`.
        choice_part: the part of the data to choose heads by; None: half of the documents.
    """

    name: str
    form: str
    make: Callable[[TaskRequest], Task]
    choice_part: str | None = None


_KINDS: dict[str, TaskKind] = {}
Maker = Callable[[TaskRequest], Task]


def register_task(form: str, *, choice_part: str | None = None) -> Callable[[Maker], Maker]:
    """Register what makes a kind of task; a name that is taken is an error.

    Args:
        form: how the task is written: its name, and what follows (`classify:FILE`, `glue/NAME`).
        choice_part: see `TaskKind`.
    """

    def add(make: Maker) -> Maker:
        name = _split(form)[0]
        kind = TaskKind(name, form, make, choice_part)
        register(cast(dict[str, object], _KINDS), "task", name, kind)
        return make

    return add


def task_kinds() -> dict[str, TaskKind]:
    """All kinds of tasks by name: those of the package, then those of plug-ins.

    >>> sorted(task_kinds())
    ['causal-lm', 'classify', 'glue', 'imdb', 'masked-lm', 'similarity', 'tour', 'translate', ...
    """
    _load_kinds()
    return dict(_KINDS)


@cache
def _load_kinds() -> None:
    package = import_module("headscope.tasks")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    load_plugins("tasks")


def _split(name: str) -> tuple[str, str]:
    """The kind of a task, and the rest of its name.

    >>> _split("classify:my/file.csv"), _split("glue/mrpc"), _split("tour")
    (('classify', 'my/file.csv'), ('glue', 'mrpc'), ('tour', ''))
    """
    kind, *rest = re.split("[:/]", name, maxsplit=1)
    return kind, "".join(rest)


def find_kind(name: str) -> tuple[TaskKind, str]:
    """The kind of a task, and what follows it in the task's name."""
    kinds = task_kinds()
    kind, data = _split(name)
    forms = ", ".join(each.form for each in kinds.values())
    if kind not in kinds:
        hint = did_you_mean(kind, kinds)
        raise HeadscopeError(f"there is no task {name!r}{hint} (TASK is one of {forms})")
    if bool(data) != (kinds[kind].form != kind):
        raise HeadscopeError(f"{name!r} is not a task; write {kinds[kind].form}")
    return kinds[kind], data


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
        limit: only the first examples, this many.

    >>> task("tour").metrics[0].name
    'Spearman'
    """
    kind, data = find_kind(name)
    return kind.make(TaskRequest(name, data, part, glue_dir, limit, seed))


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
        choose_limit: choose by the first examples, this many.

    >>> choice, test = two_parts("tour")
    >>> len(choice.examples) + len(test.examples) == len(task("tour").examples)
    True
    """
    tested = task(name, part=part, glue_dir=glue_dir, limit=limit, seed=seed)
    choice_part = find_kind(name)[0].choice_part
    if choose is None and choice_part is None:
        return tested.halves()
    other, other_part = name, choice_part or "train"
    if choose is not None and (":" in choose or "/" in choose):
        other = choose
    elif choose is not None:
        other_part = choose
    chosen = task(other, part=other_part, glue_dir=glue_dir, limit=choose_limit, seed=seed)
    return chosen, tested
