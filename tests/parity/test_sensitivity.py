"""Gradients of the loss equal small steps, head by head, and transformers' own gradients, text by
text, with nothing padded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification

from headscope._util.progress import NoProgress
from headscope.corpus import Example, read
from headscope.errors import HeadscopeError
from headscope.evidence import HEADS
from headscope.experiments._shared.loss_gradients import BATCH, GROUPS, gradients_of_loss
from headscope.experiments.ablation import ablate, effects
from headscope.experiments.importance import importance
from headscope.experiments.importance.compute import Importance
from headscope.experiments.importance.tables import IMPORTANCE, ImportanceSummary
from headscope.experiments.scan import scan
from headscope.model import Model, wrap
from headscope.report.page import sections_of
from headscope.runs import RunResults
from headscope.tasks import Case, Classification, MaskedLM, Similarity, Task, task
from headscope.testing import tiny_tokenizer
from tests.tiny import CONFIGS, tiny
from tests.unit.examples import corpus_of

PAIRS = [
    Example("1", text="ab cd ef . gh", pair="ab ef gh", label="1"),
    Example("2", text="kaka lele gaga . dada", pair="kaka gaga dada , fa", label="4"),
    Example("3", text="a b c", pair="dededede fa , fa fa ga ha .", label="2.5"),
    Example("4", text="ab cd", pair="ab cd", label="5"),
]
FAMILIES = [*CONFIGS, "llama"]
STEP = 1e-4


def similarity(examples: list[Example]) -> Similarity:
    return Similarity("made", corpus_of(examples))


def alone(model: Model, task: Task) -> list[Case]:
    return task.cases(model, task.examples, None)


def scaled(
    model: Model, layer: int, head: int, by: float
) -> list[torch.utils.hooks.RemovableHandle]:
    """Multiply what a head gives, the slow way: a hook of our own that counts layers."""
    turn = [-1]

    def begin(_: nn.Module, __: object) -> None:
        turn[0] = -1

    def put(_: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        turn[0] += 1
        if turn[0] != layer:
            return arguments
        given = arguments[0].clone()
        size = given.shape[-1] // model.heads
        given[..., head * size : (head + 1) * size] *= by
        return (given, *arguments[1:])

    outputs = [
        block.get_submodule(model.adapter.output_projection)
        for block in model.adapter.blocks(model.network)
    ]
    return [
        model.network.register_forward_pre_hook(begin),
        *(output.register_forward_pre_hook(put) for output in outputs),
    ]


@torch.no_grad()
def loss_of(model: Model, task: Task, case: Case) -> float:
    (batch,) = task.batches(model, [case], BATCH)
    return float(task.losses(model, batch, batch.inputs(model))[0])


def steps(model: Model, task: Task, case: Case) -> NDArray[np.float64]:
    """(layer, head) the loss a little more of each head minus a little less."""
    found = np.zeros((model.layers, model.heads))
    for layer in range(model.layers):
        for head in range(model.heads):
            sides = []
            for by in (1 + STEP, 1 - STEP):
                hooks = scaled(model, layer, head, by)
                sides.append(loss_of(model, task, case))
                for hook in hooks:
                    hook.remove()
            found[layer, head] = (sides[0] - sides[1]) / (2 * STEP)
    return found


def gates(model: Model, task: Task, cases: list[Case]) -> Tensor:
    (batch,) = task.batches(model, cases, BATCH)
    found = torch.empty(len(cases), model.layers, model.heads, dtype=torch.float64)
    gradients = gradients_of_loss(model, task, batch, attention=False)
    found[list(batch.places)] = gradients.gates.double()
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_gates(family: str) -> None:
    model = tiny(family)
    model.network.double()
    task = similarity(PAIRS)
    cases = alone(model, task)
    together = gates(model, task, cases)
    close = 1e-3 if family == "llama" else 2e-6  # it normalises in float32, whatever it is given
    for place in (0, 2):
        reference = steps(model, task, cases[place])
        np.testing.assert_allclose(together[place], reference, rtol=1e-3, atol=close)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "albert", "gpt2", "mpnet"])
def test_gradients_of_attention(family: str) -> None:
    model = tiny(family)
    task = similarity(PAIRS)
    cases = alone(model, task)
    (batch,) = task.batches(model, cases, BATCH)
    found = gradients_of_loss(model, task, batch)
    assert found.magnitude is not None
    assert found.even is not None
    model.network.set_attn_implementation("eager")
    low, high = task.range
    for row, case in enumerate(batch.cases):
        outputs = [
            model.network(**model.batch([text]).inputs(model.network), output_attentions=True)
            for text in case.texts
        ]
        one, other = (output[0][0].mean(0) for output in outputs)
        cosine = torch.nn.functional.cosine_similarity(one, other, dim=0)
        loss = (cosine - (case.gold - low) / (high - low)) ** 2
        weights = [layer for output in outputs for layer in output.attentions]
        sizes = torch.autograd.grad(loss, weights)
        for layer in range(model.layers):
            reference = torch.zeros(model.heads, len(GROUPS))
            for number, text in enumerate(case.texts):
                size = sizes[number * model.layers + layer][0].abs()
                if family == "gpt2":
                    size = size.tril()
                roles = model.batch([text]).roles[0]
                sums = torch.stack([size.sum((1, 2)), *(size.sum(1) @ roles).T], 1)
                reference += sums
            torch.testing.assert_close(found.magnitude[row, layer], reference, rtol=1e-3, atol=1e-5)
    everything = GROUPS.index("all")
    torch.testing.assert_close(found.even[..., everything], found.magnitude[..., everything])
    torch.testing.assert_close(found.even[..., 1:].sum(-1), found.even[..., everything])


def with_top(kind: Any, **options: object) -> Model:
    torch.manual_seed(1)
    config = type(CONFIGS["bert"])(**(CONFIGS["bert"].to_dict() | options))
    tokens = tiny_tokenizer()
    tokens.add_special_tokens({"mask_token": "[UNK]"})
    return wrap(kind.from_config(config).eval(), tokens, "tiny")


@pytest.mark.parametrize("kind", ["classes", "masked"])
def test_gates_of_other_tasks(kind: str) -> None:
    task: Task
    texts = [Example(str(n), text=one.text, label="ab"[n % 2]) for n, one in enumerate(PAIRS)]
    if kind == "classes":
        model = with_top(AutoModelForSequenceClassification, num_labels=2)
        task = Classification("made", corpus_of(texts))
    else:
        model = with_top(AutoModelForMaskedLM)
        task = MaskedLM("made", corpus_of(texts))
    model.whole.double()
    cases = alone(model, task)
    together = gates(model, task, cases)
    reference = steps(model, task, cases[1])
    assert np.abs(reference).max() > 1e-3
    np.testing.assert_allclose(together[1], reference, atol=5e-3)  # losses are float32


def test_importance_is_the_mean_of_sizes_not_the_size_of_the_mean(minilm: Model) -> None:
    task = Similarity("pairs", corpus_of(PAIRS * 1))
    experiment = Importance(minilm, task)
    experiment.prepare(NoProgress())
    experiment.run_cases(None)
    single = np.stack([gates(minilm, task, [case]).numpy()[0] for case in experiment.cases])
    rows = experiment.rows()
    reference = np.abs(single).mean(0)
    found = np.array([row.value for row in rows]).reshape(reference.shape)
    np.testing.assert_allclose(found, reference, rtol=2e-3, atol=1e-7)
    assert np.abs(np.abs(single.mean(0)) - reference).max() > 0.1 * reference.max()
    by_layer = reference / np.sqrt((reference**2).sum(1, keepdims=True))
    normal = np.array([row.normalised for row in rows]).reshape(reference.shape)
    np.testing.assert_allclose(normal, by_layer, rtol=2e-3)
    ranks = [row.rank for row in rows]
    assert ranks == stats.rankdata(-found.ravel(), method="ordinal").tolist()


def test_frozen_weights_and_the_model_stay_as_they_were() -> None:
    model = tiny("bert")
    task = similarity(PAIRS)
    cases = alone(model, task)
    (batch,) = task.batches(model, cases, BATCH)
    before = gradients_of_loss(model, task, batch)
    model.network.requires_grad_(False)
    model.network.train()
    after = gradients_of_loss(model, task, batch)
    assert model.network.training
    assert before.magnitude is not None
    assert after.magnitude is not None
    torch.testing.assert_close(before.magnitude, after.magnitude)
    torch.testing.assert_close(before.gates, after.gates)
    assert all(one.grad is None for one in model.network.parameters())
    assert not any(
        hooks
        for one in model.network.modules()
        for hooks in (one._forward_hooks, one._forward_pre_hooks)
    )


def test_a_run_is_the_same_when_it_goes_on(minilm: Model, tmp_path: Path) -> None:
    whole = importance(minilm, "tour", progress=NoProgress())
    again = importance(minilm, "tour", out=tmp_path / "run", progress=NoProgress())
    assert whole.table("importance").equals(again.table("importance"))
    stored = RunResults.read(tmp_path / "run")
    assert stored.table("importance").equals(whole.table("importance"))
    assert (tmp_path / "run" / "report.html").exists()
    assert 0 < stored.record.summary_as(ImportanceSummary).stability <= 1
    assert {row.group for row in stored.rows(HEADS, analysis="gradients")} == set(GROUPS)


def test_a_scan_follows_the_masked_lm_loss() -> None:
    model = with_top(AutoModelForMaskedLM)
    texts = corpus_of(
        [Example(str(n), text=f"{a}b cd ef gh .") for n, a in enumerate("abcdefghijkl")]
    )
    scanned = scan(model, texts, only=["focus"], gradients=True, progress=NoProgress())
    apart = importance(model, MaskedLM("made", texts), progress=NoProgress())
    rows, expected = (results.rows(HEADS, analysis="gradients") for results in (scanned, apart))
    for row, other in zip(rows, expected, strict=True):
        assert row.value == pytest.approx(other.value, rel=1e-4)
    with pytest.raises(HeadscopeError, match="without a masked-LM head"):
        scan(tiny("bert"), texts, gradients=True, progress=NoProgress())


@pytest.fixture(scope="module")
def measured(minilm: Model) -> RunResults:
    return importance(minilm, task("tour", limit=12), progress=NoProgress())


@pytest.fixture(scope="module")
def off(minilm: Model) -> RunResults:
    return ablate(minilm, task("tour", limit=12), progress=NoProgress())


def test_importance_beside_a_real_ablation(measured: RunResults, off: RunResults) -> None:
    (section,) = [one for one in sections_of([measured, off]) if "importance" in one.title]
    (chart,) = section.charts
    points = chart.spec()["datasets"]["heads"]
    assert len(points) == 72
    deltas = {row.name: row.delta for row in effects(off, "head")}
    table = {(row.layer, row.head): row.value for row in measured.rows(IMPORTANCE)}
    for point in points:
        assert point["effect"] == pytest.approx(deltas[point["name"]])
        assert point["value"] == pytest.approx(table[point["layer"], point["head"]])
    rho = stats.spearmanr([p["value"] for p in points], [abs(p["effect"]) for p in points])
    assert f"{rho.statistic:+.2f}" in section.text[1]


def test_what_resting_on_specials_means(
    minilm: Model, measured: RunResults, off: RunResults
) -> None:
    """One figure: mass against norm, gradient and effect; each is what its own run says."""
    seen = scan(
        minilm,
        read("tour", limit=40),
        only=["special_tokens", "value_norms"],
        progress=NoProgress(),
    )
    (section,) = [one for one in sections_of([seen, measured, off]) if "Resting" in one.title]
    (chart,) = section.charts
    points: dict[str, dict[str, Any]] = {}
    for point in chart.spec()["datasets"]["points"]:
        points.setdefault(point["measure"], {})[point["name"]] = point
    norm, gradient, gain = points.values()
    assert len(norm) == len(gradient) == len(gain) == 72
    table = measured.rows(HEADS) + seen.rows(HEADS)

    def of(analysis: str, group: str, column: str = "value", direction: str | None = None) -> float:
        (row,) = [
            row
            for row in table
            if (row.analysis, row.group, row.layer, row.head, row.direction)
            == (analysis, group, 2, 5, direction)
        ]
        return float(getattr(row, column))

    specials = ("first", "separator")
    masses = [of("special_tokens", group, direction="from all") for group in specials]
    norms = [of("value_norms", group) for group in specials]
    assert norm["L2.H5"]["mass"] == pytest.approx(sum(masses))
    assert norm["L2.H5"]["value"] == pytest.approx(np.average(norms, weights=masses))
    made, even = (
        sum(of("gradients", group, column) for group in specials)
        for column in ("value", "baseline")
    )
    assert gradient["L2.H5"]["value"] == pytest.approx(made / even)
    deltas = {row.name: row.delta for row in effects(off, "head")}
    assert gain["L2.H5"]["value"] == pytest.approx(deltas["L2.H5"])
    rests = sum(point["mass"] >= 0.5 for point in norm.values())
    assert f"{rests} of 72 heads rest" in section.text[0]
    alone = [one for one in sections_of([seen]) if "Resting" in one.title]
    assert len(alone[0].text) == 2  # no run of the same model to tell more
    assert not [one for one in sections_of([measured, off]) if "Resting" in one.title]


def test_texts_that_are_cut_are_told(minilm: Model) -> None:
    results = importance(minilm, "tour", gradients=False, max_length=8, progress=NoProgress())
    (corpus,) = results.record.corpora
    texts = minilm.encode(
        [
            text
            for one in task("tour").examples
            for text in (Example(one.id, text=one.text), Example(one.id, text=one.pair or ""))
        ]
    )
    assert corpus.cut == sum(len(one) > 8 for one in texts) > 0
    assert corpus.lost == sum(max(0, len(one) - 8) for one in texts)
    assert corpus.longest == 8
