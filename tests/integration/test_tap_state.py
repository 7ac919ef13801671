"""Watching leaves no trace: outputs to the bit, registries, hooks, threads."""

from __future__ import annotations

import copy
import threading

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, MambaConfig, MambaModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headscope.corpus import Example
from headscope.errors import ModelError
from headscope.model import Model, reinitialise, wrap
from headscope.model.adapters import Adapter, Route
from headscope.model.attention import MapWatcher, Seen
from headscope.testing import tiny_tokenizer
from tests.tiny import CONFIGS, SMALL, tiny

TEXTS = [Example("1", text="ab cd ef . gh"), Example("2", text="kaka lele")]


def plain(model: Model) -> torch.Tensor:
    batch = model.batch(model.encode(TEXTS))
    with torch.no_grad():
        output = model.network(input_ids=batch.ids, attention_mask=batch.real.long())
    result: torch.Tensor = output[0]
    return result


@pytest.mark.parametrize("family", CONFIGS)
def test_a_watched_model_is_what_it_was_to_the_bit(family: str) -> None:
    model = tiny(family)
    before, registry = plain(model), set(ALL_ATTENTION_FUNCTIONS._global_mapping)
    hooks = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.network.modules())
    with model.watch() as tap:
        tap.forward(model.batch(model.encode(TEXTS)))
    assert torch.equal(before, plain(model))
    assert set(ALL_ATTENTION_FUNCTIONS._global_mapping) == registry
    after = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.network.modules())
    assert after == hooks


def test_an_observer_that_fails_leaves_the_model_as_it_was() -> None:
    model = tiny("bert")
    before = plain(model)

    def fail(seen: Seen, maps: torch.Tensor) -> None:
        raise RuntimeError("observer")

    with pytest.raises(RuntimeError, match="observer"), model.watch(MapWatcher(fail)) as tap:
        tap.forward(model.batch(model.encode(TEXTS)))
    assert torch.equal(before, plain(model))
    assert model.network.config._attn_implementation == "sdpa"


def test_a_model_in_training_goes_back_to_it() -> None:
    model = tiny("bert")
    model.network.train()
    with model.watch() as tap:
        tap.forward(model.batch(model.encode(TEXTS)))
        assert not model.network.training
    assert model.network.training


def collect(model: Model, rounds: int, into: list[torch.Tensor]) -> None:
    batch = model.batch(model.encode(TEXTS))
    for _ in range(rounds):
        with model.watch(MapWatcher(lambda _, maps: into.append(maps.clone()))) as tap:
            tap.forward(batch)


def test_two_models_in_two_threads_do_not_mix() -> None:
    models = [tiny("bert", seed) for seed in (1, 2)]
    for model in models:
        model.network.config = copy.deepcopy(model.network.config)
    alone: list[list[torch.Tensor]] = [[], []]
    for model, into in zip(models, alone, strict=True):
        collect(model, 1, into)
    together: list[list[torch.Tensor]] = [[], []]
    threads = [
        threading.Thread(target=collect, args=(model, 20, into))
        for model, into in zip(models, together, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for into, expected in zip(together, alone, strict=True):
        assert len(into) == 20 * len(expected)
        for place, weights in enumerate(into):
            assert torch.equal(weights, expected[place % len(expected)])


def test_one_model_in_two_threads_takes_turns() -> None:
    model = tiny("bert")
    alone: list[torch.Tensor] = []
    collect(model, 1, alone)
    inside, most = [0], [0]

    def enter(into: list[torch.Tensor]) -> None:
        for _ in range(10):
            with model.watch(MapWatcher(lambda _, maps: into.append(maps.clone()))) as tap:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                tap.forward(model.batch(model.encode(TEXTS)))
                inside[0] -= 1

    seen: list[list[torch.Tensor]] = [[], []]
    threads = [threading.Thread(target=enter, args=(into,)) for into in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
    for into in seen:
        assert len(into) == 10 * len(alone)
        assert all(torch.equal(w, alone[n % len(alone)]) for n, w in enumerate(into))


def test_untrained_weights_are_drawn_anew_and_alike() -> None:
    model = tiny("bert", seed=3)  # tiny models are random too
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = reinitialise(model, 1), reinitialise(model, 1), reinitialise(model, 2)
    assert torch.equal(torch.rand(1), expected)  # nobody else's random numbers are used up
    assert first.sha256 == again.sha256 != other.sha256
    assert first.sha256 != model.sha256
    assert first.weights == "random"


def test_a_model_with_a_head_on_top_can_be_watched() -> None:
    torch.manual_seed(0)
    model = wrap(BertForMaskedLM(BertConfig(**SMALL)), tiny_tokenizer())
    assert (model.layers, model.heads) == (3, 4)


def test_a_model_without_attention_is_told_so() -> None:
    config = MambaConfig(vocab_size=200, hidden_size=16, state_size=4, num_hidden_layers=2)
    with pytest.raises(ModelError, match="it computes no attention over tokens") as caught:
        wrap(MambaModel(config), tiny_tokenizer(decoder=True), "mamba")
    assert "MambaModel" in str(caught.value)


def test_an_adapter_that_sees_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("mpnet")
    wrong = Adapter("mpnet", Route.FUNCTION)
    monkeypatch.setattr("headscope.model.detect.family_of", lambda _: wrong)
    with pytest.raises(ModelError, match="it computes no attention over tokens that could be seen"):
        wrap(model.network, model.tokenizer)
    assert torch.isfinite(plain(model)).all()


def test_calling_a_watched_model_by_hand_is_refused() -> None:
    model = tiny("bert")
    with model.watch(), pytest.raises(ModelError, match="somebody else"):
        plain(model)
