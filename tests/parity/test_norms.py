"""Norm-weighted attention equals its definition: |weight * (x W_V + b_V) W_O|, vector by vector."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from headscope.corpus import Example
from headscope.model import LayerAttention, Model
from tests.tiny import CONFIGS, tiny

TEXTS = ["ab cd ef . gh", "kaka lele gaga . dada", "a b"]


def third(output: Tensor) -> Tensor:
    """The value part of a projection that makes query, key and value at once."""
    return output.chunk(3, -1)[2]


def all_of_it(output: Tensor) -> Tensor:
    return output


Place = tuple[str, Callable[[Tensor], Tensor], str]
PLACES: dict[str, Place] = {  # where a layer makes its values, what of that they are, its output
    "bert": ("self.value", all_of_it, "attention.output.dense"),
    "roberta": ("self.value", all_of_it, "attention.output.dense"),
    "electra": ("self.value", all_of_it, "attention.output.dense"),
    "distilbert": ("v_lin", all_of_it, "out_lin"),
    "albert": ("attention.value", all_of_it, "attention.dense"),
    "gpt2": ("c_attn", third, "attn.c_proj"),
    "modernbert": ("Wqkv", third, "attn.Wo"),
    "mpnet": ("attn.v", all_of_it, "attn.o"),
    "deberta-v2": ("value_proj", all_of_it, "attention.output.dense"),
}


def named(network: nn.Module, ending: str) -> list[nn.Module]:
    return [module for name, module in network.named_modules() if name.endswith(ending)]


def by_definition(model: Model, maps: list[Tensor], text: str) -> list[Tensor]:
    """(head, query, key) of every layer: norms of the vectors that are really added up."""
    ending, part, out = PLACES[model.adapter.family]
    values: list[Tensor] = []
    hooks = [
        module.register_forward_hook(lambda _, __, output: values.append(part(output)[0]))
        for module in named(model.network, ending)
    ]
    (pieces,) = model.encode([Example("text", text=text)])
    with torch.no_grad():
        model.network(**model.batch([pieces]).inputs(model.network))
    for hook in hooks:
        hook.remove()
    outputs = named(model.network, out)
    found = []
    for layer, (weights, value) in enumerate(zip(maps, values, strict=True)):
        matrix = outputs[layer % len(outputs)].get_parameter("weight").detach()
        if model.adapter.family != "gpt2":
            matrix = matrix.T  # (what goes in, what comes out)
        size = value.shape[-1] // model.heads
        made = torch.zeros_like(weights)
        for head in range(model.heads):
            part_of_it = slice(head * size, (head + 1) * size)
            for i in range(len(value)):
                for j in range(len(value)):
                    vector = weights[head, i, j] * value[j, part_of_it] @ matrix[part_of_it]
                    made[head, i, j] = vector.norm()
        found.append(made / made.sum(-1, keepdim=True))
    return found


@pytest.mark.parametrize("family", CONFIGS)
def test_by_norm_is_its_definition(family: str) -> None:
    model = tiny(family)
    plain: dict[int, list[Tensor]] = {}
    weighted: dict[int, list[Tensor]] = {}

    def keep(attention: LayerAttention) -> None:
        shown = attention.by_norm()
        for place in range(len(TEXTS)):
            real = int(attention.batch.real[place].sum())
            for store, one in ((plain, attention), (weighted, shown)):
                store.setdefault(place, []).append(one.weights[place, :, :real, :real].clone())

    pieces = model.encode([Example(text, text=text) for text in TEXTS])
    with model.watch(keep) as tap:
        tap.forward(model.batch(pieces))  # padded
    for place, text in enumerate(TEXTS):
        expected = by_definition(model, plain[place], text)
        for found, twin, weights in zip(weighted[place], expected, plain[place], strict=True):
            torch.testing.assert_close(found, twin, rtol=1e-4, atol=1e-5)
            assert not torch.allclose(found, weights, atol=1e-3)


def test_grouped_values_serve_several_heads() -> None:
    model = tiny("llama")
    norms: list[Tensor] = []
    with model.watch(lambda attention: norms.append(attention.norms)) as tap:
        tap.forward(model.batch(model.encode([Example("a", text=TEXTS[0])])))
    assert {one.shape[1] for one in norms} == {model.heads}
    assert not torch.allclose(norms[0][:, 0], norms[0][:, 1])
