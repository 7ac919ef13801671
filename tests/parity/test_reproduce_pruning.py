"""Recipes with fine-tuned models, against heads that are switched off one by one by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from headscope._util.progress import NoProgress
from headscope.experiments.finetuning.hyperparameters import Start
from headscope.experiments.pruning.orders import HeadScorer, order_by
from headscope.experiments.reproduce.inputs import CannotReproduceError, Inputs
from headscope.experiments.reproduce.paper import load_paper
from headscope.experiments.reproduce.recipes.michel2019 import (
    heads_off,
    one_kept,
    pruning_curve,
    scores_without,
    share_of_head,
)
from headscope.experiments.reproduce.tuning import glue_part, tuned
from headscope.experiments.reproduce.workbench import Recomputed, Workbench
from headscope.model import Model, disable, load
from headscope.tasks import Task
from tests.tiny import tiny

EXAMPLES = 30


@pytest.fixture(scope="module")
def glue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MRPC and a sample of MNLI, of words that the tiny tokenizer knows."""
    folder = tmp_path_factory.mktemp("glue")
    rng = np.random.default_rng(0)
    words = ["ab", "cd", "ef", "gh", "ij", "kl", "aa", "bb"]

    def text() -> str:
        return " ".join(rng.choice(words, rng.integers(2, 8)))

    def write(name: str, header: str, classes: list[str]) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        rows = [f"{rng.choice(classes)}\t{text()}\t{text()}" for _ in range(2 * EXAMPLES)]
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")

    for part in ("train", "dev"):
        write(f"MRPC/{part}.tsv", "Quality\t#1 String\t#2 String", ["0", "1"])
    classes = ["entailment", "neutral", "contradiction"]
    for part in ("train.sample9k", "dev_matched"):
        write(f"MNLI/{part}.tsv", "gold_label\tsentence1\tsentence2", classes)
    return folder


@pytest.fixture(scope="module")
def bench(glue: Path, tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """A tiny model in a folder, and at most `EXAMPLES` examples of everything."""
    home = tmp_path_factory.mktemp("model")
    model = tiny("bert")
    model.network.save_pretrained(home)
    model.tokenizer.save_pretrained(home)
    inputs = Inputs.of(load_paper("michel2019"), None, {"glue": glue}, EXAMPLES)
    return Workbench(load(home), inputs, None, NoProgress())


@pytest.fixture(scope="module")
def model(bench: Workbench) -> Model:
    return tuned(bench, "mrpc").load()


@pytest.fixture(scope="module")
def dev(bench: Workbench) -> Task:
    return glue_part(bench, "mrpc", "dev")


def metric_without(model: Model, dev: Task, heads: list[tuple[int, int]]) -> float:
    """The first metric with some heads off, one example at a time."""
    predictions = []
    cases = dev.cases(model, dev.examples, None)
    with disable(model, heads, "zero"), torch.inference_mode():
        for case in cases:
            inputs = model.batch(case.texts).inputs(model.network)
            predictions.append(int(model.whole(**inputs).logits.argmax()))
    return dev.metrics[0](np.array(predictions), np.array([case.gold for case in cases]))


def test_a_model_is_tuned_once_on_as_many_examples_as_the_workbench_takes(
    bench: Workbench,
) -> None:
    first = tuned(bench, "mrpc")
    weights = first.folder / "model.safetensors"
    written = weights.stat().st_mtime_ns
    assert tuned(bench, "mrpc") == first
    assert weights.stat().st_mtime_ns == written
    assert first.record.trained[0].n == EXAMPLES
    assert len(glue_part(bench, "mrpc", "train").examples) == EXAMPLES
    assert len(glue_part(bench, "mrpc", "train", at_most=7).examples) == 7
    frozen = tuned(bench, "mrpc", Start.FROZEN)
    assert frozen.folder != first.folder
    assert frozen.load().with_top is not None


def test_samples_stand_for_training_parts_alone(bench: Workbench) -> None:
    (path,) = glue_part(bench, "mnli", "train").corpus.paths
    assert path.name == "train.sample9k.tsv"
    with pytest.raises(CannotReproduceError, match="no dev part of mnli-mm"):
        glue_part(bench, "mnli-mm", "dev")


def test_one_head_kept_is_what_the_others_off_give(
    bench: Workbench, model: Model, dev: Task
) -> None:
    rows = one_kept(bench, "kept", model, dev)
    assert list(rows) == list(range(model.layers))
    values = []
    for layer, kept in ((0, 0), (0, 3), (1, 2), (2, 1)):
        others = [(layer, head) for head in range(model.heads) if head != kept]
        expected = metric_without(model, dev, others)
        assert rows[layer][kept].value == pytest.approx(expected)
        values.append(expected)
    assert len({row.value for layer in rows.values() for row in layer}) > 1


def test_heads_off_are_named_by_their_places(bench: Workbench, model: Model, dev: Task) -> None:
    rows = heads_off(bench, "off", model, dev)
    assert list(rows) == list(model.places)
    for place in ((0, 1), (2, 3)):
        assert rows[place].value == pytest.approx(metric_without(model, dev, [place]))


def test_curves_are_of_the_heads_that_went_first(model: Model, dev: Task) -> None:
    order = [*reversed(model.places)]
    curve = scores_without(model, dev, order)
    assert list(curve) == list(range(0, 101, 10))
    for percent in (0, 50, 100):
        score, effect = curve[percent]
        expected = metric_without(model, dev, order[: round(len(order) * percent / 100)])
        assert score.value == pytest.approx(expected)
        assert effect.delta == pytest.approx(expected - curve[0][0].value)
    assert score.low <= score.value <= score.high


def test_heads_go_in_the_order_in_which_prune_removes_them(
    bench: Workbench, model: Model, dev: Task
) -> None:
    scorer = HeadScorer(model, glue_part(bench, "mrpc", "train"))
    order = model.places_of(order_by(scorer.importance, len(model.places)))
    found = pruning_curve(bench, "mrpc")
    for percent, (score, _) in scores_without(model, dev, order).items():
        assert found[f"pruned {percent}"].value == pytest.approx(score.value)


def test_a_head_is_as_many_parameters_as_there_are_heads(model: Model) -> None:
    assert share_of_head(model) == pytest.approx(1 / model.heads)


def test_a_model_that_has_learned_nothing_is_set_apart(bench: Workbench) -> None:
    trained = tuned(bench, "mrpc")
    (first, *others) = trained.record.trained
    found = {"accuracy": Recomputed(first.value)}
    cases: list[tuple[float, float | None, float, bool]] = [
        (0.6, 0.55, 0.05, True),
        (0.9, 0.55, 0.05, False),
        (0.0, 0.0, 0.0, True),  # F1 of a model that names one class only
        (0.08, None, 0.05, True),  # a correlation
        (0.8, None, 0.05, False),
    ]
    for value, nothing, error, apart in cases:
        score = replace(first, value=value, nothing=nothing, error=error)
        judged = replace(trained, record=trained.record.completed([score, *others])).judged(found)
        assert bool(judged["accuracy"].apart) is apart
        assert judged["accuracy"].value == first.value
