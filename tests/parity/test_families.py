"""Families of models, one for each way to attend, against what the models themselves compute."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    BertConfig,
    BertModel,
)

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.corpus import Budget, Example
from headscope.errors import ModelError
from headscope.experiments.ablation.tables import ABLATION
from headscope.experiments.gates.schedule import Schedule
from headscope.experiments.gates.tables import GATES
from headscope.model import Model, disable, load, remove, save, wrap
from headscope.model.adapters import Route
from headscope.model.attention import MapWatcher
from headscope.model.batch import Batch
from headscope.testing import VOCABULARY, tiny_tokenizer
from tests.families import DECODERS, ENCODERS, family_model, family_network

FAMILIES = [*DECODERS, *ENCODERS]
REMOVABLE = ["llama", "gemma2", "gpt_oss", "mixtral", "deepseek_v3", "deepseek_v32", "afmoe"]
REMOVABLE += ["jamba", "laguna", "gptj", "gpt_neo", "apertus", "data2vec-text"]
TEXTS = {
    "padded": ["ab cd ef . gh ij kl ab ab cd ef gh ij kk . la", "a", "aabb cc , dd ee ff gg"],
    "unpadded": ["ab cd ef . gh ij ka ab cd ef gh", "gh ij kl , aa bb cc dd ee ff gg"],
}


def batch_of(model: Model, kind: str) -> Batch:
    texts = [Example(str(n), text=text) for n, text in enumerate(TEXTS[kind])]
    return model.batch(model.encode(texts))


@torch.inference_mode()
def output(model: Model, batch: Batch) -> Tensor:
    states: Tensor = model.network(**batch.inputs(model.network))[0]
    return states[batch.real]


@contextmanager
def own_eager(model: Model, change: Callable[[int, Any], Tensor] | None = None) -> Iterator[Any]:
    """The slow, obvious way: the family's own function patched in its file, outputs changed."""
    names = {type(module).__module__ for module in model.network.modules()}
    modules: list[Any] = [sys.modules[name] for name in names if "transformers.models." in name]
    files = [file for file in modules if hasattr(file, "eager_attention_forward")]
    originals = [file.eager_attention_forward for file in files]
    turn = [0]

    def patched(original: Any) -> Any:
        def run(module: nn.Module, *arguments: Any, **options: Any) -> Any:
            found, weights = original(module, *arguments, **options)
            if change is not None:
                given = (*arguments, options.get("attention_mask"))
                found = change(turn[0], (found.clone(), weights, *given))
            turn[0] += 1
            return found, weights

        return run

    config = model.network.config
    previous, config._attn_implementation = config._attn_implementation, "eager"
    for file, original in zip(files, originals, strict=True):
        file.eager_attention_forward = patched(original)
    try:
        yield
    finally:
        for file, original in zip(files, originals, strict=True):
            file.eager_attention_forward = original
        config._attn_implementation = previous


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_maps_are_the_models_own(family: str, kind: str) -> None:
    model = family_model(family)
    batch = batch_of(model, kind)
    seen: list[tuple[Tensor, Tensor]] = []
    with model.watch(
        MapWatcher(lambda s, m: seen.append((m.clone(), s.view.visible.whole)))
    ) as tap:
        tap.forward(batch)
    with own_eager(model), torch.inference_mode():
        returned = model.network(**batch.inputs(model.network), output_attentions=True).attentions
    assert len(seen) == len(returned)
    for (maps, visible), own in zip(seen, returned, strict=True):
        rows = batch.real[:, None, :, None]
        torch.testing.assert_close(maps * rows, own.float() * rows, atol=1e-5, rtol=1e-4)
        assert not bool(((maps > 0).any(1, keepdim=True) & ~visible & rows).any())


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize(
    "family", [f for f in DECODERS if f not in ("bloom", "gptj", "gpt_neo", "falcon", "diffllama")]
)
def test_off_is_off_inside_the_familys_own_function(family: str, how: str) -> None:
    model = family_model(family)
    batch, last = batch_of(model, "padded"), model.sites[-1]

    def change(turn: int, call: Any) -> Tensor:
        found: Tensor = call[0]
        weights, _, __, value, mask = call[1:6]
        if turn != last.place:
            return found
        groups = found.shape[2] // value.shape[1]
        seen = torch.ones_like(weights[:, :1]) if mask is None else (mask[:, :1] > -1e4).float()
        even = seen / seen.sum(-1, keepdim=True).clamp_min(1)
        found[:, :, 1] = 0 if how == "zero" else even[:, 0] @ value[:, 1 // groups]
        return found

    before = output(model, batch)
    with disable(model, [(last.layer, 1)], how):
        ours = output(model, batch)
    with own_eager(model, change):
        expected = output(model, batch)
    torch.testing.assert_close(ours, expected, atol=1e-4 * float(expected.abs().max()), rtol=1e-4)
    assert not torch.allclose(ours, before, atol=1e-3)
    assert torch.equal(output(model, batch), before)


@pytest.mark.parametrize("family", ["bloom", "gptj", "gpt_neo", "falcon"])
def test_off_is_as_without_the_weights_of_the_output_projection(family: str) -> None:
    model = family_model(family).copy()
    batch = batch_of(model, "padded")
    with disable(model, "L1.H1", "zero"):
        ours = output(model, batch)
    weight = model.adapter.projection_of(model.network, 1).get_parameter("weight")
    with torch.no_grad():
        weight[:, 8:16] = 0
    torch.testing.assert_close(ours, output(model, batch), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", ["mixtral", "jamba", "laguna", "afmoe", "bloom"])
def test_ablation_is_the_task_with_heads_off(family: str) -> None:
    model, few = family_model(family), hs.task("tour", limit=8)
    rows = {row.name: row for row in hs.ablate(model, few, progress=NoProgress()).rows(ABLATION)}
    assert len(rows) == sum(model.head_counts) + len(model.sites)
    cases = few.cases(model, few.examples, None)
    gold = [case.gold for case in cases]
    metric = few.metrics[0]
    for name in (f"L{model.sites[0].layer}.H1", f"L{model.layers - 1}"):
        with disable(model, name):
            predictions = few.predict(model, cases, Budget(256, 256 * 128))
        row = next(
            row
            for row in hs.ablate(model, few, heads=[name], progress=NoProgress()).rows(ABLATION)
            if row.metric == metric.name
        )
        assert row.value == pytest.approx(metric(predictions, torch.tensor(gold).numpy()), abs=5e-3)


@pytest.mark.parametrize("family", REMOVABLE)
def test_without_heads_is_as_with_heads_at_zero(family: str, tmp_path: Path) -> None:
    model = family_model(family)
    first, last = model.sites[0], model.sites[-1]
    gone = [(first.layer, 1), (last.layer, 0), (last.layer, 2), (last.layer, 3)]
    smaller = remove(model, gone)
    batch = batch_of(model, "padded")
    with disable(model, gone, "zero"):
        expected = output(model, batch)
    near = 1e-4 * float(expected.abs().max())
    torch.testing.assert_close(output(smaller, batch), expected, atol=near, rtol=1e-3)
    assert sum(p.numel() for p in smaller.network.parameters()) < sum(
        p.numel() for p in model.network.parameters()
    )
    save(smaller, tmp_path)
    assert torch.equal(output(load(tmp_path), batch), output(smaller, batch))
    whole = AutoModel.from_pretrained(tmp_path, trust_remote_code=True)
    assert torch.equal(output(wrap(whole, model.tokenizer), batch), output(smaller, batch))


def test_a_layer_without_heads_gives_nothing() -> None:
    model = family_model("llama")
    batch = batch_of(model, "padded")
    with disable(model, "L1", "zero"):
        expected = output(model, batch)
    torch.testing.assert_close(output(remove(model, "L1"), batch), expected, atol=1e-4, rtol=1e-3)


def test_layers_are_named_by_the_network() -> None:
    model = family_model("jamba")
    assert [site.layer for site in model.sites] == [1, 3]
    assert repr(model).startswith("jamba: jamba, 4 layers, 2 of them with up to 4 heads")
    with pytest.raises(hs.HeadscopeError, match=r"no L0\.H1: .* are L1 \(4\), L3 \(4\)"):
        disable(model, "L0.H1").__enter__()
    results = hs.scan(model, hs.read("tour", limit=12), only=["focus", "distances"])
    layers = {row.layer for row in results.rows(hs.evidence.HEADS) if row.head is not None}
    assert layers == {1, 3}


def test_layers_may_have_different_numbers_of_heads() -> None:
    results = hs.scan(family_model("laguna"), hs.read("tour", limit=12), progress=NoProgress())
    heads = {
        (row.layer, row.head) for row in results.rows(hs.evidence.HEADS) if row.head is not None
    }
    assert heads == {(layer, head) for layer, n in enumerate((4, 8, 4)) for head in range(n)}


def test_a_mean_cannot_be_folded_past_a_gate(tmp_path: Path) -> None:
    task, out = hs.task("tour", limit=24), tmp_path / "none"
    with pytest.raises(ModelError, match="their mean instead; at zero there may be one"):
        hs.prune(family_model("laguna"), task, keep=0.5, how="mean", out=out, progress=NoProgress())
    assert not out.exists()


@pytest.mark.parametrize(("family", "how"), [("jamba", "mean"), ("laguna", "zero")])
def test_layers_that_differ_in_heads_are_pruned_and_gated(
    family: str, how: str, tmp_path: Path
) -> None:
    model, task = family_model(family), hs.task("tour", limit=24)
    results = hs.prune(
        model,
        task,
        keep=0.5,
        how=how,
        beside=(),
        onnx=False,
        out=tmp_path / "smaller",
        progress=NoProgress(),
    )
    removed = results.record.summary["pruned"]["removed"]
    assert len(removed) == sum(model.head_counts) // 2
    assert results.record.summary["pruned"]["difference"] < 1e-4
    assert f"{len(removed)} of {2 * len(removed)} heads" in repr(hs.load(tmp_path / "smaller"))
    short = Schedule(penalties=(0.1, 1.0), steps=2)
    rows = hs.gates(model, task, schedule=short, seeds=1, progress=NoProgress()).rows(GATES)
    assert {(row.layer, row.head) for row in rows} == set(model.places)


@pytest.mark.parametrize("family", ["jamba", "laguna"])
def test_probes_need_as_many_heads_in_every_layer(family: str) -> None:
    with pytest.raises(ModelError, match="have different numbers of heads"):
        hs.probe(family_model(family), hs.read("tour"), hs.read("tour"), progress=NoProgress())


def test_a_text_as_long_as_the_limit_runs() -> None:
    model = wrap(family_network("data2vec-text"), tiny_tokenizer(), "long")
    assert model.adapter.reserved_positions == 1
    model.tokenizer.model_max_length = 10**9
    again = wrap(model.network, model.tokenizer)
    pieces = again.encode([Example("long", text="ab " * 300)])
    assert len(pieces[0]) == again.max_length == 255
    with again.watch() as tap:
        tap.forward(again.batch(pieces))


def test_padding_that_changes_a_text_is_avoided() -> None:
    model = family_model("convbert")
    assert model.adapter.depends_on_padding
    corpus = hs.read("tour", limit=12)
    results = hs.scan(model, corpus, only=["focus"], progress=NoProgress())
    alone = hs.Settings(budget=Budget(tokens=1))
    one = hs.scan(model, corpus, only=["focus"], settings=alone, progress=NoProgress())
    for row, other in zip(
        results.rows(hs.evidence.HEADS), one.rows(hs.evidence.HEADS), strict=True
    ):
        assert row.value == pytest.approx(other.value, abs=1e-5)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "big_bird": ({"hidden_size": 32}, "attends in sparse blocks"),
    "mamba": ({"hidden_size": 16}, "computes no attention over tokens"),
    "fnet": ({"hidden_size": 32}, "computes no attention over tokens"),
    "squeezebert": ({"hidden_size": 32, "embedding_size": 32}, "from those that the model itself"),
    "canine": ({"hidden_size": 32}, "where the text has"),
}


@pytest.mark.parametrize("family", REFUSED)
def test_what_cannot_be_right_is_refused_with_a_sentence(family: str) -> None:
    options, message = REFUSED[family]
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    config = AutoConfig.for_model(family, vocab_size=len(VOCABULARY), **(sizes | options))
    for name in ("encoder_layers", "decoder_layers", "num_layers", "num_decoder_layers"):
        if isinstance(getattr(config, name, None), int):
            setattr(config, name, 1)
    with pytest.raises(ModelError, match=message):
        wrap(AutoModel.from_config(config), tiny_tokenizer())


def test_windows_are_read_where_no_token_sees_the_whole_text() -> None:
    """A Longformer that classifies has its first token see everything, which is refused."""
    config = family_network("longformer").config
    whole = AutoModelForSequenceClassification.from_config(config).eval()
    model = wrap(whole, tiny_tokenizer())
    batch = batch_of(model, "padded")
    seen: list[Tensor] = []
    with model.watch(MapWatcher(lambda _, maps: seen.append(maps.clone()))) as tap:
        tap.forward(batch)
    with torch.inference_mode():
        returned = model.network(**batch.inputs(model.network), output_attentions=True).attentions
    for maps, own in zip(seen, returned, strict=True):  # own: (example, head, query, column)
        reach = own.shape[-1] // 2
        for example, length in enumerate(batch.real.sum(1).tolist()):
            for query, key in itertools.product(range(length), repeat=2):
                near = abs(key - query) <= reach
                expected = own[example, :, query, key - query + reach] if near else 0.0
                assert (maps[example, :, query, key] - expected).abs().max() <= 1e-6
    with disable(model, "L0.H1"), pytest.raises(ModelError, match="no token has this global"):
        whole(**batch.inputs(model.network))


def test_the_encoder_of_a_translator_can_be_wrapped() -> None:
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 4}
    config = AutoConfig.for_model("bart", vocab_size=len(VOCABULARY), **sizes)
    model = wrap(AutoModel.from_config(config).get_encoder(), tiny_tokenizer(), "encoder")
    assert model.head_counts == (4, 4)


def test_a_training_model_is_left_as_it_was() -> None:
    network = BertModel(BertConfig(**hs.testing.SIZES))
    model = wrap(network, tiny_tokenizer())
    network.train(True)
    network.encoder.layer[1].train(False)
    before = {name: part.training for name, part in network.named_modules()}
    with model.watch() as tap:
        tap.forward(batch_of(model, "padded"))
    with disable(model, "L0.H0"):
        output(model, batch_of(model, "padded"))
    assert {name: part.training for name, part in network.named_modules()} == before


@pytest.mark.parametrize("family", ["llama", "gpt_oss", "bloom"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(family: str, dtype: torch.dtype) -> None:
    exact = family_model(family)
    network = AutoModel.from_config(exact.network.config).to(dtype)
    network.load_state_dict(exact.network.state_dict())
    model = wrap(network.train(False), exact.tokenizer)
    assert model.adapter.route is (Route.SOFTMAX if family == "bloom" else Route.FUNCTION)
    with disable(model, "L0.H0"):
        assert torch.isfinite(output(model, batch_of(model, "padded"))).all()
