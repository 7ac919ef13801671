"""Kovaleva et al. 2019: revealing the dark secrets of BERT, on GLUE and FrameNet."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from headscope.corpus import Corpus
from headscope.evidence import HEADS
from headscope.evidence.metrics import Score
from headscope.experiments.ablation.tables import ABLATION, AblationRow
from headscope.experiments.finetuning.hyperparameters import Start
from headscope.experiments.reproduce.inputs import CannotReproduceError
from headscope.experiments.reproduce.tuning import GLUE, glue_part, tuned
from headscope.experiments.reproduce.workbench import (
    Quantities,
    Recomputed,
    Workbench,
    best_of,
    paper_name,
    recipe,
)
from headscope.experiments.scan.settings import Settings
from headscope.runs import RunResults

PAPER = "kovaleva2019"
TASKS = {
    "MRPC": "mrpc",
    "STS-B": "sts-b",
    "SST-2": "sst-2",
    "QQP": "qqp",
    "RTE": "rte",
    "QNLI": "qnli",
    "MNLI": "mnli",
}
"""The tasks as the paper and as GLUE's files name them."""
ABLATED = {"MRPC": "F1", "STS-B": "Pearson"}
"""Metrics of figures 8 and 9 by their ranges; of the other tasks, accuracy."""
EXAMPLES = 1000
"""Of the development part, whose maps are looked at."""
LENGTH = 128
"""Pieces to which texts are cut."""
PERCENT = 100.0
SENTENCE, WORD = "He was becoming agitated .", "he"
"""The example of figure 3, and the token whose row is printed."""
SHAPES = {
    "vertical": "vertical",
    "diagonal": "diagonal",
    "vertical+diagonal": "vert+diag",
    "block": "block",
    "heterogeneous": "heterogeneous",
}
"""Shapes, and what the figure calls them."""


@recipe(PAPER, "frames", "frames")
def frames(bench: Workbench) -> Quantities:
    """Section 4.2: the largest weight between a core element of a frame and its target."""
    settings = Settings(untrained=0, max_length=LENGTH)
    results = bench.scan("frames", "frames", only=["frames"], settings=settings)
    rows = results.rows(HEADS, analysis="frames", statistic="largest")
    heads = [row for row in rows if row.head is not None]
    found = {f"frames {paper_name(row)}": Recomputed.of(row) for row in heads}
    first = best_of(heads)
    second = best_of(row for row in heads if row is not first)
    for name, row in (("first", first), ("second", second)):
        found[f"{name} head"] = Recomputed(label=paper_name(row), n=row.n)
        found[f"{name} weight"] = Recomputed.of(row)
    return found


@recipe(PAPER, "example")
def example(bench: Workbench) -> Quantities:
    """Figure 3: one row of every head, on one sentence."""
    from headscope.experiments.look import look

    seen = look(bench.model, SENTENCE)
    tokens = [token.lower() for token in seen.tokens]
    if WORD not in tokens:
        raise CannotReproduceError(f"its tokenizer splits {WORD!r}")
    weights = seen.maps[:, :, tokens.index(WORD)]
    return {
        f"example {layer + 1}-{head + 1} {token}": Recomputed(float(weight))
        for layer, rows in enumerate(weights)
        for head, row in enumerate(rows)
        for token, weight in zip(tokens, row.tolist(), strict=True)
    }


def scores(task: str, bench: Workbench) -> Quantities:
    """Table 1: a task before training, trained from random weights, and from those of the model."""
    trained = tuned(bench, TASKS[task]).record
    random = tuned(bench, TASKS[task], Start.RANDOM).record
    columns = {"untrained": trained.untrained, "random": random.trained, "tuned": trained.trained}
    return {
        f"{task} {score.metric} {column}": _score(score)
        for column, scores in columns.items()
        for score in scores
    }


def _score(score: Score) -> Recomputed:
    return Recomputed(PERCENT * score.value, PERCENT * score.low, PERCENT * score.high, score.n)


@recipe(PAPER, "mean gain", GLUE)
def mean_gain(bench: Workbench) -> Quantities:
    """Section 4.3: what fine-tuning gains, as a mean over the column of table 1 called Acc."""
    gains = []
    for task in TASKS.values():
        record = tuned(bench, task).record
        before, after = (
            {score.metric: score.value for score in scores}
            for scores in (record.untrained, record.trained)
        )
        metric = "accuracy" if "accuracy" in after else next(iter(after))
        gains.append(after[metric] - before[metric])
    return {"mean gain": Recomputed(PERCENT * float(np.mean(gains)), n=len(gains))}


def patterns(task: str, bench: Workbench) -> Quantities:
    """Figure 2: shapes of the maps of a fine-tuned model."""
    results = _watched(task, bench, "patterns")
    rows = results.rows(HEADS, statistic="shape", layer=None, head=None)
    shares = {SHAPES[str(row.group)]: row for row in rows}
    found = {f"{task} {name}": Recomputed.of(row, PERCENT) for name, row in shares.items()}
    upper = shares["heterogeneous"].value + shares["block"].value
    found[f"{task} upper bound"] = Recomputed(PERCENT * upper, n=rows[0].n)
    return tuned(bench, TASKS[task]).judged(found)


def _watched(task: str, bench: Workbench, analysis: str, *, base: bool = False) -> RunResults:
    """A scan of the fine-tuned model, or of the one that it was made from, on the task's texts."""
    from headscope.experiments.scan import scan

    model = bench.model if base else tuned(bench, TASKS[task]).load()
    name = f"{TASKS[task]}-{analysis}{'-base' if base else ''}"
    settings = Settings(untrained=0, max_length=LENGTH)
    results: RunResults = bench.run(
        name, scan, model, _texts(task, bench), only=[analysis], settings=settings
    )
    return results


def _texts(task: str, bench: Workbench) -> Corpus:
    """The first examples of the development part."""
    limit = min(EXAMPLES, bench.inputs.limit or EXAMPLES)
    return replace(glue_part(bench, TASKS[task], "dev").corpus, limit=limit)


def ablations(task: str, bench: Workbench) -> Quantities:
    """Figures 8 and 9, section 4.6: a head, or a layer, that attends to all tokens alike."""
    from headscope.experiments.ablation import ablate

    trained = tuned(bench, TASKS[task])
    results: RunResults = bench.run(
        f"{TASKS[task]}-ablation",
        ablate,
        trained.load(),
        glue_part(bench, TASKS[task], "dev"),
        how="uniform",
        max_length=LENGTH,
    )
    rows = results.rows(ABLATION, metric=ABLATED.get(task, "accuracy"))
    found: Quantities = {}
    for unit in ("head", "layer"):
        some = [row for row in rows if row.unit == unit]
        best, worst = (choose(some, key=lambda row: row.value) for choose in (max, min))
        found |= {
            f"{task} {unit} highest": Recomputed(best.value, n=best.n),
            f"{task} {unit} lowest": Recomputed(worst.value, n=worst.n),
            f"{task} {unit} best": Recomputed(label=paper_name(best), n=best.n),
            f"{task} {unit} worst": Recomputed(label=paper_name(worst), n=worst.n),
            f"{task} {unit} median": Recomputed(float(np.median([row.value for row in some]))),
            f"{task} {unit} gain": _change(best),
        }
        found |= {f"{task} {paper_name(row)}": Recomputed(row.value, n=row.n) for row in some}
        found |= {f"{task} {paper_name(row)} gain": _change(row) for row in some}
    return trained.judged(found)


def _change(row: AblationRow) -> Recomputed:
    """What a metric gains without something, in points."""
    return Recomputed(PERCENT * row.delta, PERCENT * row.low, PERCENT * row.high, row.n)


@recipe(PAPER, "layers of QNLI and MNLI", GLUE)
def least_loss(bench: Workbench) -> Quantities:
    """Section 4.6: the layer that is missed least, in the two tasks that lose without any."""
    gains = [ablations(task, bench)[f"{task} layer gain"] for task in ("QNLI", "MNLI")]
    return {"layer gain": max(gains, key=lambda gain: gain.value or 0.0)}


def similarities(task: str, bench: Workbench) -> Quantities:
    """Figure 5: the cosine of maps before and after fine-tuning."""
    from headscope.experiments.compare import changes, compare

    trained = tuned(bench, TASKS[task])
    results = bench.run(
        f"{TASKS[task]}-similarity",
        compare,
        bench.model,
        trained.load(),
        _texts(task, bench),
        only=["focus"],
        settings=Settings(untrained=0, max_length=LENGTH),
    )
    found = {f"{task} cosine {paper_name(row)}": Recomputed.of(row) for row in changes(results)}
    return trained.judged(found)


@recipe(PAPER, "separators of QQP", GLUE)
def separators(bench: Workbench) -> Quantities:
    """Their notebook: attention to the first token and to separators, before and after."""
    found: Quantities = {}
    for when, base in (("base", True), ("finetuned", False)):
        results = _watched("QQP", bench, "linguistic_features", base=base)
        for name, group in (("CLS", "first"), ("SEP", "separator")):
            rows = results.rows(HEADS, statistic="largest", direction="from all", group=group)
            found |= {
                f"QQP {name} {when} {paper_name(row)}": Recomputed.of(row)
                for row in rows
                if row.head is not None
            }
    return found


for _task in TASKS:
    for _name, _follow in (
        ("scores", scores),
        ("patterns", patterns),
        ("ablation", ablations),
        ("similarity", similarities),
    ):
        recipe(PAPER, f"{_name} {_task}", GLUE)(partial(_follow, _task))
