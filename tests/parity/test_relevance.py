"""Relevance against messages written out neuron by neuron, and against the score it comes from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import erf

from headscope._util.progress import NoProgress
from headscope.corpus import Example
from headscope.evidence import HEADS
from headscope.experiments.relevance import relevance
from headscope.experiments.relevance.compute import Relevance
from headscope.experiments.relevance.tables import score_parts
from headscope.model import Model, Top, load
from headscope.model.hooks.relevance import LayerRelevance, Trace, propagate_relevance
from headscope.report.page import sections_of
from headscope.tasks import task
from tests.families import family_model
from tests.tiny import CONFIGS, tiny

Floats = NDArray[np.float64]
EPSILON = 0.01
NEURON = 3


def with_biases(family: str) -> Model:
    """A tiny model whose biases are not 0."""
    model = tiny(family)
    torch.manual_seed(5)
    with torch.no_grad():
        for name, one in model.network.named_parameters():
            if name.endswith("bias"):
                one.normal_(std=0.3)
            elif one.dim() == 1:
                one.normal_(1.0, 0.2)
    return model


def followed(model: Model, texts: list[str]) -> tuple[float, list[LayerRelevance], Trace]:
    """Relevance for one neuron of the first token's last state."""
    batch = model.batch(model.encode([Example(str(n), text=one) for n, one in enumerate(texts)]))
    with propagate_relevance(model, EPSILON) as trace:
        score = model.network(**batch.inputs(model.network))[0][:, 0, NEURON].sum()
        layers = trace.relevance(score)
    return float(score.detach()), layers, trace


@pytest.mark.parametrize("family", [*CONFIGS, "llama"])
def test_everything_is_counted(family: str) -> None:
    model = with_biases(family)
    score, layers, trace = followed(model, ["ab cd, ef gh ab. cd", "gh a."])
    biases, epsilons = trace.ledger.absorbed_since(0)
    assert abs(epsilons) > 0
    whole = max(1.0, abs(score))
    assert abs(trace.reached + biases + epsilons - score) < 1e-4 * whole
    assert len(layers) == model.layers
    for layer in layers:
        parts = float(layer.heads.sum()) + layer.past + layer.biases + layer.epsilons
        assert abs(parts - score) < 1e-4 * whole


@pytest.mark.parametrize("family", ["gptj", "falcon", "afmoe", "convbert"])
def test_what_passes_the_heads_by_is_counted(family: str) -> None:
    """A feed-forward network beside the heads, a gate on their outputs, a convolution."""
    model = family_model(family)
    score, layers, _ = followed(model, ["ab cd, ef gh ab. cd"])
    assert [layer.layer for layer in layers] == [site.layer for site in model.sites]
    for layer in layers:
        parts = [float(layer.heads.sum()), layer.past, layer.biases, layer.epsilons]
        assert abs(sum(parts) - score) < 1e-3 * max(1.0, *map(abs, parts))


def test_the_model_is_left_as_it_was() -> None:
    model = with_biases("bert")
    before = {name: one.requires_grad for name, one in model.network.named_parameters()}
    ids = {"input_ids": torch.tensor([[2, 7, 9, 3]])}
    plain = model.network(**ids)[0]
    followed(model, ["ab cd"])
    assert {name: one.requires_grad for name, one in model.network.named_parameters()} == before
    assert torch.equal(model.network(**ids)[0], plain)
    gradient = torch.autograd.grad(plain.sum(), next(model.network.parameters()))
    assert gradient[0].abs().sum() > 0  # gradients are gradients again


class Reference:
    """BERT in float64, one text, with relevance handed down by messages between neurons."""

    def __init__(self, model: Model) -> None:
        self.weights = {
            name: one.detach().double().numpy() for name, one in model.network.named_parameters()
        }
        self.heads, self.layers = model.heads, model.layers

    def linear(self, name: str, given: Floats) -> Floats:
        return np.asarray(given @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def norm(self, name: str, given: Floats) -> tuple[Floats, Floats]:
        centred = given - given.mean(-1, keepdims=True)
        spread = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return centred * spread * weight + bias, spread

    def down_linear(self, name: str, given: Floats, relevance: Floats) -> Floats:
        """Each output hands to each input its part of what made the output."""
        weight = self.weights[f"{name}.weight"]
        found = np.zeros_like(given)
        made = self.linear(name, given)
        for token in range(len(given)):
            for out in range(len(weight)):
                away = EPSILON if made[token, out] >= 0 else -EPSILON
                for into in range(weight.shape[1]):
                    message = given[token, into] * weight[out, into]
                    found[token, into] += (
                        message / (made[token, out] + away) * relevance[token, out]
                    )
        return found

    def down_norm(self, name: str, given: Floats, spread: Floats, relevance: Floats) -> Floats:
        """Normalisers are constants: a linear map from all neurons of a token to each."""
        weight, size = self.weights[f"{name}.weight"], given.shape[-1]
        made, _ = self.norm(name, given)
        found = np.zeros_like(given)
        for token in range(len(given)):
            for out in range(size):
                share = relevance[token, out] / made[token, out]
                for into in range(size):
                    factor = (float(out == into) - 1 / size) * spread[token, 0] * weight[out]
                    found[token, into] += given[token, into] * factor * share
        return found

    def run(self, start: Floats) -> Floats:
        """(layer, head) relevance for one neuron of the first token's last state."""
        kept, hidden = [], start
        for layer in range(self.layers):
            base = f"encoder.layer.{layer}"
            query, key, value = (
                self.linear(f"{base}.attention.self.{part}", hidden)
                for part in ("query", "key", "value")
            )
            size = query.shape[1] // self.heads
            maps, context = [], np.zeros_like(value)
            for head in range(self.heads):
                part = slice(head * size, (head + 1) * size)
                scores = query[:, part] @ key[:, part].T / np.sqrt(size)
                map_ = np.exp(scores - scores.max(-1, keepdims=True))
                maps.append(map_ / map_.sum(-1, keepdims=True))
                context[:, part] = maps[-1] @ value[:, part]
            out = self.linear(f"{base}.attention.output.dense", context)
            middle, one = self.norm(f"{base}.attention.output.LayerNorm", out + hidden)
            wide = self.linear(f"{base}.intermediate.dense", middle)
            act = wide * (1 + erf(wide / np.sqrt(2))) / 2
            narrow = self.linear(f"{base}.output.dense", act)
            after, two = self.norm(f"{base}.output.LayerNorm", narrow + middle)
            kept.append((base, hidden, maps, value, context, out, middle, one, act, narrow, two))
            hidden = after
        relevance = np.zeros_like(hidden)
        relevance[0, NEURON] = hidden[0, NEURON]
        heads = np.zeros((self.layers, self.heads))
        for layer in reversed(range(self.layers)):
            base, hidden, maps, value, context, out, middle, one, act, narrow, two = kept[layer]
            both = narrow + middle
            whole = self.down_norm(f"{base}.output.LayerNorm", both, two, relevance)
            to_act = self.down_linear(f"{base}.output.dense", act, whole * narrow / both)
            to_middle = self.down_linear(f"{base}.intermediate.dense", middle, to_act)
            relevance = to_middle + whole * middle / both
            both = out + hidden
            whole = self.down_norm(f"{base}.attention.output.LayerNorm", both, one, relevance)
            to_context = self.down_linear(
                f"{base}.attention.output.dense", context, whole * out / both
            )
            size = context.shape[1] // self.heads
            to_value = np.zeros_like(value)
            for head in range(self.heads):
                part = slice(head * size, (head + 1) * size)
                heads[layer, head] = to_context[:, part].sum()
                share = to_context[:, part] / context[:, part]
                to_value[:, part] = value[:, part] * (maps[head].T @ share)
            down = self.down_linear(f"{base}.attention.self.value", hidden, to_value)
            relevance = down + whole * hidden / both
        return heads


def test_messages_between_neurons_say_the_same() -> None:
    model = with_biases("bert")
    _, layers, trace = followed(model, ["ab cd, ef"])
    heads = torch.stack([layer.heads for layer in layers])
    expected = Reference(model).run(trace.inputs[0][0].detach().double().numpy())
    assert np.allclose(heads[:, 0].numpy(), expected, atol=1e-4 * np.abs(expected).max())
    assert np.abs(expected).max() > 0.01


def test_a_batch_is_as_its_cases_alone(minilm: Model) -> None:
    experiment = Relevance(minilm, task("tour", limit=6))
    experiment.prepare(NoProgress())
    together = experiment.work(experiment.cases).columns["relevance"]
    for place, case in enumerate(experiment.cases):
        alone = experiment.work([case]).columns["relevance"][0]
        assert np.allclose(together[place], alone, atol=1e-4)


def test_the_run_tells_where_the_score_goes(minilm: Model) -> None:
    results = relevance(minilm, task("tour", limit=24), progress=NoProgress())
    shares = [row.value for row in results.rows(HEADS, statistic="share") if row.head is not None]
    assert sum(shares) == pytest.approx(1.0)
    assert len(score_parts(results)) == minilm.layers
    for parts in score_parts(results):
        total = parts.heads + parts.residual + parts.biases + parts.epsilon
        assert total == pytest.approx(1.0, abs=1e-4)
    texts = " ".join(text for section in sections_of([results]) for text in section.text)
    assert "relevance with confidence" in texts
    assert "relevance with importance" in texts


def test_masked_words_of_a_real_model(models: Path, tmp_path: Path) -> None:
    model = load(models / "rxnmapper-albert", top=Top.MASKED_LM)
    path = tmp_path / "reactions.txt"
    path.write_text("CC(=O)O.CCO>>CC(=O)OCC\nCCN.CC(=O)Cl>>CCNC(C)=O\n", encoding="utf-8")
    results = relevance(model, task(f"masked-lm:{path}"), progress=NoProgress())
    assert max(parts.lost for parts in score_parts(results)) < 1e-4
