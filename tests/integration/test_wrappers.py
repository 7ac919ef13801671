"""Models in training, compiled or with adapters: analysed rightly, or refused with a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import peft
import pytest
import torch
from torch import nn
from transformers import BertModel

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.corpus import Example
from headscope.errors import ModelError
from headscope.evidence import HEADS
from headscope.experiments.ablation import effects
from headscope.model import Model, wrap
from headscope.model.attention import MapWatcher
from headscope.testing import tiny_tokenizer
from tests.tiny import CONFIGS

TEXTS = [Example("1", text="ab cd ef . gh"), Example("2", text="kaka lele")]


def network(dropout: float = 0.0) -> BertModel:
    torch.manual_seed(0)
    config = CONFIGS["bert"].__class__(
        **CONFIGS["bert"].to_diff_dict()
        | {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    )
    return BertModel(config)


def lora(base: nn.Module) -> Any:
    """All projections of the attention with an adapter that does something."""
    torch.manual_seed(1)
    names = ["query", "key", "value", "attention.output.dense"]
    settings = peft.LoraConfig(target_modules=names, r=4, init_lora_weights=False)
    return peft.get_peft_model(base, settings)


def maps(model: Model) -> list[torch.Tensor]:
    seen: list[torch.Tensor] = []
    with model.watch(MapWatcher(lambda _, weights: seen.append(weights.clone()))) as tap:
        tap.forward(model.batch(model.encode(TEXTS)))
    return seen


def own_maps(whole: Any, model: Model) -> tuple[torch.Tensor, ...]:
    """As the network itself returns them."""
    batch = model.batch(model.encode(TEXTS))
    whole.eval()
    whole.set_attn_implementation("eager")
    with torch.inference_mode():
        attentions: tuple[torch.Tensor, ...] = whole(
            **batch.inputs(model.network), output_attentions=True
        ).attentions
    return attentions


def numbers(model: Model) -> list[float]:
    """Of a scan with norms of value vectors, and of an ablation."""
    only = ["focus", "value_norms"]
    found = hs.scan(model, hs.read("tour", limit=6), only=only, progress=NoProgress())
    lost = hs.ablate(model, hs.task("tour", limit=12), progress=NoProgress())
    return [row.value for row in found.rows(HEADS)] + [row.value for row in effects(lost, "head")]


@pytest.mark.parametrize("wrapped", ["peft model", "network inside"])
def test_adapters_are_merged_into_a_copy(wrapped: str) -> None:
    adapted = lora(network())
    inside = adapted.get_base_model()
    before = {name: weight.clone() for name, weight in adapted.state_dict().items()}
    model = wrap(adapted if wrapped == "peft model" else inside, tiny_tokenizer())
    for ours, theirs, plain in zip(
        maps(model), own_maps(adapted, model), maps(wrap(network(), tiny_tokenizer())), strict=True
    ):
        assert torch.allclose(ours, theirs, atol=1e-5)
        assert not torch.allclose(ours, plain, atol=1e-2)
    merged = lora(network()).merge_and_unload()
    np.testing.assert_allclose(
        numbers(model), numbers(wrap(merged, tiny_tokenizer())), rtol=1e-4, atol=1e-6
    )
    after = adapted.state_dict()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


def test_adapters_that_are_off_stay_off() -> None:
    adapted = lora(network())
    with adapted.disable_adapter():
        found = maps(wrap(adapted.get_base_model(), tiny_tokenizer()))
    for ours, plain in zip(found, maps(wrap(network(), tiny_tokenizer())), strict=True):
        assert torch.allclose(ours, plain, atol=1e-6)


def test_learned_prompts_are_refused() -> None:
    settings = peft.PrefixTuningConfig(task_type="FEATURE_EXTRACTION", num_virtual_tokens=3)
    adapted: Any = peft.get_peft_model(network(), settings)
    with pytest.raises(ModelError, match="learned vectors, not tokens"):
        wrap(adapted, tiny_tokenizer())


def test_of_a_compiled_network_the_original_is_watched() -> None:
    plain: Any = network()
    compiled: Any = torch.compile(plain, backend="eager")
    model = wrap(compiled, tiny_tokenizer())
    assert model.network is plain
    for ours, theirs in zip(maps(model), own_maps(network(), model), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_a_network_compiled_in_place_is_refused() -> None:
    plain = network()
    plain.compile(backend="eager")
    with pytest.raises(ModelError, match="compiled in place"):
        wrap(plain, tiny_tokenizer())


def test_what_is_in_training_stays_so_and_has_no_dropout_meanwhile() -> None:
    plain = network(dropout=0.3).train()
    plain.encoder.layer[1].eval()
    modes = [module.training for module in plain.modules()]
    model, calm = wrap(plain, tiny_tokenizer()), wrap(network().eval(), tiny_tokenizer())
    assert numbers(model) == pytest.approx(numbers(calm), rel=1e-5)
    inputs = model.batch(model.encode(TEXTS)).inputs(plain)
    smaller, expected = hs.remove(model, "L0.H1"), hs.remove(calm, "L0.H1")
    with torch.inference_mode():
        torch.testing.assert_close(smaller.network(**inputs)[0], expected.network(**inputs)[0])
    assert [module.training for module in plain.modules()] == modes
