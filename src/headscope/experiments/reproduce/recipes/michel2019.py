"""Michel et al. 2019: what fine-tuned BERTs lose with their heads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from headscope.corpus import Budget
from headscope.evidence.metrics import Score
from headscope.evidence.paired import Effect, Paired, Resamples
from headscope.experiments.ablation import ablate
from headscope.experiments.ablation.tables import ABLATION, AblationRow
from headscope.experiments.importance import importance
from headscope.experiments.importance.tables import IMPORTANCE
from headscope.experiments.reproduce.tuning import GLUE, glue_part, tuned
from headscope.experiments.reproduce.workbench import (
    Quantities,
    Recomputed,
    Workbench,
    recipe,
)
from headscope.model import Model, disable, remove
from headscope.runs import RunResults
from headscope.tasks import Task

PAPER = "michel2019"
PERCENT = 100.0
LENGTH = 128
"""Pieces of a text, as they trained and evaluated (prepare_task.sh)."""
BUDGET = Budget(2048, 2048 * LENGTH)
TENTHS = range(0, 101, 10)
"""Per cent of the heads that go."""
CHOSEN_ON = 5000
"""Training examples that the head to keep is chosen on (appendix A)."""
SIGNIFICANT = 0.01
BATCHES = (1, 4, 16, 64)
"""Examples in a batch (table 4)."""

Heads = list[tuple[int, int]]
"""(layer, head) pairs, the first to go first."""


def length(model: Model) -> int:
    """Pieces of a text that a model reads."""
    return min(LENGTH, model.max_length)


def pruning_curve(bench: Workbench, name: str) -> Quantities:
    """What a task's metric is without more and more heads, those of least importance first.

    Importance is measured on the training part, and a head's is divided by the norm of its
    layer's. Heads go without noticeable loss as long as the interval of the difference from the
    intact model reaches 0.
    """
    trained, task = tuned(bench, name), glue_part(bench, name, "dev")
    model = trained.load()
    measured = bench.run(
        f"{name}-importance",
        importance,
        model,
        glue_part(bench, name, "train"),
        gradients=False,
        max_length=length(model),
    )
    rows = measured.rows(IMPORTANCE)
    order = [(row.layer, row.head) for row in sorted(rows, key=lambda each: each.normalised)]
    curve = scores_without(model, task, order)
    unnoticed = 0
    for percent, (_, effect) in curve.items():
        if effect.high < 0:
            break
        unnoticed = percent
    found = {f"pruned {percent}": _of_score(score) for percent, (score, _) in curve.items()}
    found["unnoticed"] = Recomputed(float(unnoticed), n=len(task.examples))
    return trained.judged(found)


for _task in ("mnli", "sst-2", "cola", "mrpc"):  # figures 3b, 6a, 6b, 6c
    recipe(PAPER, _task, GLUE)(partial(pruning_curve, name=_task))


def scores_without(model: Model, task: Task, order: Heads) -> dict[int, tuple[Score, Effect]]:
    """By per cent of the heads that are off, the task's first metric and its paired difference
    from that of the intact model.
    """
    cases = task.cases(model, task.examples, length(model))
    gold = np.array([case.gold for case in cases])
    resamples = Resamples([case.example.unit for case in cases])
    intact = task.predict(model, cases, BUDGET)
    paired = Paired.of(task.metrics[0], intact, gold, resamples)
    found = {}
    for percent in TENTHS:
        with disable(model, order[: round(len(order) * percent / PERCENT)], "zero"):
            predictions = task.predict(model, cases, BUDGET)
        found[percent] = task.score(predictions, cases)[0], paired.effect(predictions)
    return found


def _of_score(score: Score) -> Recomputed:
    return Recomputed(score.value, score.low, score.high, score.n)


@recipe(PAPER, "cola and mrpc", GLUE)
def cola_and_mrpc(bench: Workbench) -> Quantities:
    """Appendix B: how many heads go unnoticed in both tasks."""
    both = [pruning_curve(bench, name)["unnoticed"] for name in ("cola", "mrpc")]
    fewer = min(both, key=lambda each: each.value or 0.0)
    return {"unnoticed": replace(fewer, apart=both[0].apart or both[1].apart)}


@recipe(PAPER, "one head off", GLUE)
def one_head_off(bench: Workbench) -> Quantities:
    """Figures 2b and 3b: accuracy without each head, and pruning in the order of these."""
    trained, task = tuned(bench, "mnli"), glue_part(bench, "mnli", "dev")
    model = trained.load()
    rows = heads_off(bench, "mnli", model, task)
    curve = scores_without(model, task, sorted(rows, key=lambda head: -rows[head].value))
    oracle = {f"oracle {percent}": _of_score(score) for percent, (score, _) in curve.items()}
    return trained.judged(_without_each(rows) | oracle)


@recipe(PAPER, "mismatched", GLUE)
def mismatched(bench: Workbench) -> Quantities:
    """Figure 2b: the same on the mismatched part, and how the two go together over heads."""
    other = glue_part(bench, "mnli-mm", "dev")
    trained = tuned(bench, "mnli")
    model = trained.load()
    matched = heads_off(bench, "mnli", model, glue_part(bench, "mnli", "dev"))
    rows = heads_off(bench, "mnli-mm", model, other)
    values = np.array([[matched[head].value, rows[head].value] for head in rows]).T
    together = Recomputed(float(np.corrcoef(values)[0, 1]), n=len(rows))
    return trained.judged(_without_each(rows) | {"Pearson": together})


def heads_off(
    bench: Workbench, name: str, model: Model, task: Task
) -> dict[tuple[int, int], AblationRow]:
    """By layer and head the first metric without the head."""
    results: RunResults = bench.run(
        f"{name}-ablation", ablate, model, task, how="zero", max_length=length(model)
    )
    rows = results.rows(ABLATION, unit="head", metric=task.metrics[0].name)
    return dict(zip(model.places, rows, strict=True))


def _without_each(rows: dict[tuple[int, int], AblationRow]) -> Quantities:
    """The metric without each head; its interval is that of the difference, moved to the value."""
    return {
        f"without {layer + 1}-{head + 1}": Recomputed(
            row.value, row.value - row.delta + row.low, row.value - row.delta + row.high, row.n
        )
        for (layer, head), row in rows.items()
    }


@recipe(PAPER, "one head kept", GLUE)
def one_head_kept(bench: Workbench) -> Quantities:
    """Tables 3 and 6: accuracy with one head of a layer, the best, or one chosen elsewhere."""
    trained, task = tuned(bench, "mnli"), glue_part(bench, "mnli", "dev")
    model = trained.load()
    train = glue_part(bench, "mnli", "train", at_most=CHOSEN_ON)
    tested = one_kept(bench, "mnli-kept", model, task)
    chosen = one_kept(bench, "mnli-kept-train", model, train)
    found: Quantities = {}
    changed = 0
    for layer, rows in tested.items():
        best = max(rows, key=lambda row: row.value)
        elsewhere = max(zip(chosen[layer], rows, strict=True), key=lambda pair: pair[0].value)[1]
        for name, row in (("best", best), ("chosen elsewhere", elsewhere)):
            found[f"layer {layer + 1}, {name}"] = _percent(row.delta, row.low, row.high, row.n)
        changed += elsewhere.p < SIGNIFICANT
    unchanged = PERCENT * (1 - changed / len(tested))
    found["layers unchanged"] = Recomputed(unchanged, n=len(tested))
    return trained.judged(found)


def one_kept(bench: Workbench, name: str, model: Model, task: Task) -> dict[int, list[AblationRow]]:
    """By layer the metric with each of its heads alone, in the order of the heads."""
    model.check_even("this recipe")
    sets = {
        f"{layer}-{kept}": ",".join(
            model.head_name(layer, head) for head in range(model.heads) if head != kept
        )
        for layer in range(model.layers)
        for kept in range(model.heads)
    }
    results: RunResults = bench.run(
        name, ablate, model, task, heads=list(sets.values()), how="zero", max_length=length(model)
    )
    by_name = {row.name: row for row in results.rows(ABLATION, metric=task.metrics[0].name)}
    return {
        layer: [by_name[sets[f"{layer}-{kept}"]] for kept in range(model.heads)]
        for layer in range(model.layers)
    }


def _percent(value: float, low: float, high: float, n: int) -> Recomputed:
    return Recomputed(PERCENT * value, PERCENT * low, PERCENT * high, n)


@recipe(PAPER, "speed", GLUE)
def speed(bench: Workbench) -> Quantities:
    """Table 4: how much faster the model reads without half of its heads; section 4.3."""
    from headscope.experiments.pruning.speed import measure_speedup

    model = bench.model
    half = remove(model, [place for place in model.places if place[1] % 2])
    texts = model.encode(glue_part(bench, "mnli", "dev").examples[: max(BATCHES)], length(model))
    found: Quantities = {}
    for size in BATCHES:
        if size <= len(texts):
            inputs = model.batch(texts[:size]).inputs(model.network)
            ratio = measure_speedup(partial(read, model, inputs), partial(read, half, inputs))
            times = (ratio.times - 1, ratio.low - 1, ratio.high - 1)
            found[f"speed-up, {size}"] = _percent(*times, size)
    return found | {"parameters of a head": Recomputed(PERCENT * share_of_head(model))}


def share_of_head(model: Model) -> float:
    """The share of a head in the parameters of its layer's attention that belong to heads.

    They are those that have another shape when a head is removed.
    """
    smaller = dict(remove(model, model.places[:1]).network.named_parameters())
    sizes = [
        (parameter.numel(), smaller[name].numel())
        for name, parameter in model.network.named_parameters()
        if parameter.shape != smaller[name].shape
    ]
    return 1 - sum(after for _, after in sizes) / sum(before for before, _ in sizes)


def read(model: Model, inputs: dict[str, Tensor]) -> None:
    """Have a model read a batch."""
    with torch.inference_mode():
        model.network(**inputs)
