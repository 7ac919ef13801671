"""Pruning a model for a task, wired to a folder: the smaller model, its card, and the run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headscope._util.atomic import explain_write_errors, is_empty, write_text
from headscope._util.naming import head_name
from headscope._util.progress import Progress
from headscope.errors import HeadscopeError, ModelError, RunError
from headscope.experiments._shared.held_out import CHOICE, TEST, HeldOut
from headscope.experiments.base import Work, recorded, versions
from headscope.experiments.finetuning.compute import (
    CHECKPOINTS,
    Recipe,
    Steps,
    checkpoint_size,
    saving,
    size_of,
    train,
)
from headscope.experiments.gates.training import Schedule
from headscope.experiments.pruning.card import card
from headscope.experiments.pruning.compute import Pruning
from headscope.experiments.pruning.orders import Choice, Way, named
from headscope.experiments.pruning.speed import speed_of
from headscope.model import Model, Replacement, load, parse_replacement, remove, save
from headscope.model.pruned.onnx import export_onnx
from headscope.runs import Results, RunFolder, run
from headscope.runs.found import Found
from headscope.runs.results import PRUNING, REMOVALS
from headscope.tasks import Classification, Regression, Task, two_parts

RUN = "run"
"""The run folder within the folder of a pruned model."""
EQUAL = 1e-5
"""How far a pruned model's outputs may be from those of the intact one with its heads off."""
ONNX = "model.onnx"


@dataclass(frozen=True)
class Wish:
    """What a user wants of the pruned model.

    Attributes:
        keep: the share of heads to keep; or
        max_drop: what the metric may lose on the choosing data.
        tune: epochs of fine-tuning afterwards.
        onnx: write an ONNX file as well.
    """

    keep: float | None = None
    max_drop: float | None = None
    tune: float = 0.0
    onnx: bool = True

    def __post_init__(self) -> None:
        if (self.keep is None) is (self.max_drop is None):
            raise HeadscopeError("say how many heads to keep (--keep) or what may be lost "
                                 "(--max-drop), one of the two")  # fmt: skip
        if self.keep is not None and not 0 <= self.keep <= 1:
            raise HeadscopeError(f"--keep is a share of the heads, 0 to 1, not {self.keep}")
        if self.max_drop is not None and self.max_drop < 0:
            raise HeadscopeError(f"--max-drop is what may be lost, 0 or more, not {self.max_drop}")


def prune(
    model: Model | str | Path,
    task: Task | str,
    *,
    keep: float | None = None,
    max_drop: float | None = None,
    choose: Task | None = None,
    by: str = "importance",
    beside: Sequence[str] = ("random",),
    how: str = "zero",
    step: int | None = None,
    tune: float = 0.0,
    onnx: bool = True,
    schedule: Schedule | None = None,
    out: str | Path | None = None,
    max_length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> Found:
    """Remove the heads that a task needs least, and state what that costs on other data.

    Args:
        task: what the loss is stated on; a model given by name is loaded with what it needs on top.
        choose: what the heads are chosen by; None: see `tasks.two_parts`.
        keep: the share of heads to keep; or
        max_drop: what the metric may lose on the choosing data, 0.005 for half a point.
        by: `importance`, `ablation` or `gates`; `beside`: ways whose curves stand beside.
        how: a head that goes gives nothing (`zero`), or its mean over the choosing data (`mean`).
        step: estimate what heads are worth again after so many have gone.
        tune: epochs of fine-tuning afterwards, on the choosing data.
        out: the folder of the pruned model; None: the results are kept in memory.

    >>> from headscope._util.progress import NoProgress
    >>> found = prune("minilm", "tour", keep=0.5, beside=(), progress=NoProgress())
    >>> found.record["pruned"]["kept"], found.record["pruned"]["difference"] < 1e-5
    (36, True)
    """
    if choose is None:
        choose, task = two_parts(task) if isinstance(task, str) else task.halves()
    elif isinstance(task, str):
        raise HeadscopeError("with data to choose by, give the task itself (see headscope.task)")
    wish = Wish(keep, max_drop, tune, onnx)
    if parse_replacement(how) is Replacement.UNIFORM:
        raise HeadscopeError("a head that is removed gives zero, or its mean (--how)")
    if step is not None and step < 1:
        raise HeadscopeError(f"--step is a number of heads, 1 or more, not {step}")
    if tune and out is None:
        raise HeadscopeError("fine-tuning afterwards needs a folder to work in (out)")
    if tune and not isinstance(choose, Classification | Regression):
        raise HeadscopeError(f"{choose.name} has nothing to train; --tune needs a classifier")
    model = model if isinstance(model, Model) else load(model, top=task.top)
    model.check_length(max_length)
    ways = [way_named(one) for one in (by, *beside)]
    if ways[0] is Way.RANDOM:
        raise HeadscopeError("heads are not chosen by chance; random stands beside")
    if step is not None and ways[0] is Way.GATES:
        raise HeadscopeError("gates are trained once; --step is for importance and ablation")
    chosen = Choice(ways[0], step)
    others = [Choice(way) for way in ways[1:]]
    if step is not None:
        others.insert(0, Choice(ways[0]))  # the same once and for all
    schedule = schedule or Schedule()
    study = {
        "experiment": "pruning",
        "model": model.describe(),
        "task": task.describe(),
        "choice": choose.describe(),
        "options": {"keep": keep, "max_drop": max_drop, "by": by, "beside": list(beside),
                    "how": how, "step": step, "tune": tune,
                    "schedule": asdict(schedule), "max_length": max_length, "seed": seed},
        "versions": versions(),
    }  # fmt: skip
    place = None if out is None else Path(out)
    if place is not None and not (place / RUN).exists() and not is_empty(place):
        raise RunError(f"{place} has other things in it; give a new folder")
    parts = {TEST: task, CHOICE: choose}

    def prepare(shown: Progress) -> Work:
        remove(model, [(0, 0)])  # a family whose heads cannot be removed says so now
        data = HeldOut(model, parts, parse_replacement(how), max_length, seed)
        work = Pruning(data, chosen, tuple(others), schedule, shown)
        return lambda folder: _work(work, wish, folder)

    return recorded(
        study, prepare, out=None if place is None else place / RUN, progress=progress,
        command=command,
    )  # fmt: skip


def way_named(name: str) -> Way:
    """A way of choosing heads by its name."""
    if name not in list(Way):
        raise HeadscopeError(f"heads are chosen by {', '.join(Way)}, not {name!r}")
    return Way(name)


def _work(work: Pruning, wish: Wish, folder: RunFolder | None) -> Results:
    """Draw the curves, choose, remove, check, measure, save."""
    shown, data, model = work.progress, work.data, work.data.model
    sizes = {name: len(some) for name, some in data.cases.items()}
    shown.say(f"{sizes[CHOICE]:,} examples to choose by, {sizes[TEST]:,} others to state the loss")
    shown.begin(f"{model.name} on {data.parts[TEST].name}", work.cost)
    work.merged = run(work.ways, work.work, folder, 0, work)
    shown.end()
    gone = work.chosen(wish.keep, wish.max_drop)
    pruned = remove(model, named(gone, model.heads), data.means)
    about: dict[str, Any] = {
        "by": str(work.by.way), "method": str(work.by),
        "kept": work.total - len(gone), "heads": work.total,
        "removed": [head_name(*one) for one in named(sorted(gone), model.heads)],
        "difference": work.difference(pruned, gone),
        "parameters": [_size(model), _size(pruned)],
        "speed": asdict(speed_of(model, pruned, data.parts[TEST], data.cases[TEST])),
    }  # fmt: skip
    if about["difference"] > EQUAL:
        raise ModelError(
            f"the pruned model's outputs differ by {about['difference']:.1e} from those of the "
            "intact one with the same heads off; nothing was saved"
        )
    about["test"] = _scores(data, pruned)
    home = None if folder is None else folder.path.parent
    if wish.tune:
        _tune(work, pruned, wish, home)
        about["tuned"] = _scores(data, pruned)
    record: dict[str, Any] = {
        "tables": ["pruning", "removals"], "analyses": [], "corpora": [], "left_out": {},
        "intact": data.scores(), "sizes": sizes, "pruned": about,
    }  # fmt: skip
    if home is not None and folder is not None:
        with saving(home, size_of(pruned.whole.parameters())):
            save(pruned, home)
        shutil.rmtree(home / CHECKPOINTS, ignore_errors=True)
        about |= _exported(pruned, home, wish, shown)
        write_text(home / "README.md", card(pruned, folder.record["study"], record))
    return Results(
        record,
        pruning=pa.Table.from_pylist(work.rows(), schema=PRUNING),
        removals=pa.Table.from_pylist(work.removals(), schema=REMOVALS),
    )


def _tune(work: Pruning, pruned: Model, wish: Wish, home: Path | None) -> None:
    """Fine-tune a pruned model on the choosing data."""
    data, task = work.data, work.data.parts[CHOICE]
    if not isinstance(task, Classification | Regression) or home is None:
        raise HeadscopeError("fine-tuning afterwards needs a classifier, and a folder to work in")
    recipe = Recipe(epochs=wish.tune, length=data.max_length or 128, seed=data.seed)
    steps = Steps(work.progress, f"{pruned.name} without {task.name}'s spare heads")
    with saving(home, checkpoint_size(pruned, recipe.epochs)):
        train(pruned, task, recipe, home / CHECKPOINTS, steps)


def _exported(pruned: Model, home: Path, wish: Wish, shown: Progress) -> dict[str, float]:
    """How far the ONNX file is from the model; nothing where there is none, and why is said."""
    if not wish.onnx:
        return {}
    try:
        with explain_write_errors(home / ONNX):
            return {"onnx": export_onnx(pruned, home / ONNX)}
    except ModelError as error:
        shown.say(f"no ONNX file: {error}")
        return {}


def _scores(data: HeldOut, pruned: Model) -> list[dict[str, Any]]:
    """The metrics of a pruned model on the data that had no part in the choice."""
    predictions = data.predicted(pruned, TEST)
    return [data.row(predictions, TEST, metric) for metric in data.parts[TEST].metrics]


def _size(model: Model) -> int:
    return sum(one.numel() for one in model.whole.parameters())
