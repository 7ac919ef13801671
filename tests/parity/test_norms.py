"""Norm-weighted attention equals its definition: |weight * (x W_V + b_V) W_O|, vector by vector."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers.pytorch_utils import Conv1D

from headscope.corpus import Example
from headscope.model import Model, families
from headscope.model.adapters import Route
from headscope.model.attention import MapWatcher, Norms, Request, Seen, View
from tests.tiny import tiny

VALUE_PROJECTIONS = {"mpnet": "attention.attn.v", "deberta-v2": "attention.self.value_proj"}
"""In a layer of a family that calls no attention function."""
TEXTS = ["ab cd ef . gh", "kaka lele gaga . dada", "a b"]


def values_of(model: Model, text: str, monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """(head, key, size) value vectors of every layer, taken from torch's own attention function,
    or from the value projection of a family that does not call it.
    """
    values: list[Tensor] = []
    attention = functional.scaled_dot_product_attention

    def spy(query: Tensor, key: Tensor, value: Tensor, *arguments: Any, **options: Any) -> Tensor:
        values.append(value[0].detach())
        return attention(query, key, value, *arguments, **options)

    def keep(_: Any, __: Any, output: Tensor) -> None:
        by_head = output[0].detach().view(output.shape[1], model.heads, -1)
        values.append(by_head.transpose(0, 1))

    adapter = model.adapter
    hooks = [
        block.get_submodule(VALUE_PROJECTIONS[adapter.family]).register_forward_hook(keep)
        for block in adapter.blocks(model.network)
        if adapter.route is Route.SOFTMAX
    ]
    (pieces,) = model.encode([Example("text", text=text)])
    with monkeypatch.context() as patch, torch.no_grad():
        patch.setattr(functional, "scaled_dot_product_attention", spy)
        model.network(**model.batch([pieces]).inputs(model.network))
    for hook in hooks:
        hook.remove()
    return values


def output_matrices(model: Model) -> list[Tensor]:
    """(heads * size, hidden) W_O of every layer module."""
    projections = [
        block.get_submodule(model.adapter.output_projection)
        for block in model.adapter.blocks(model.network)
    ]
    weights = [projection.get_parameter("weight").detach() for projection in projections]
    return [
        weight if isinstance(projection, Conv1D) else weight.T
        for projection, weight in zip(projections, weights, strict=True)
    ]


def by_definition(model: Model, maps: list[Tensor], values: list[Tensor]) -> list[Tensor]:
    """(head, query, key) of every layer: norms of the vectors that are really added up."""
    matrices = output_matrices(model)
    layers = []
    for layer, (weights, value) in enumerate(zip(maps, values, strict=True)):
        heads, length, size = value.shape
        matrix = matrices[layer % len(matrices)].view(heads, size, -1)
        norms = torch.zeros_like(weights)
        for head in range(heads):
            for query in range(length):
                for key in range(length):
                    vector = weights[head, query, key] * value[head, key] @ matrix[head]
                    norms[head, query, key] = vector.norm()
        layers.append(norms / norms.sum(-1, keepdim=True))
    return layers


@pytest.mark.parametrize("family", families())
def test_by_norm_is_its_definition(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny(family)
    plain: dict[int, list[Tensor]] = {}
    weighted: dict[int, list[Tensor]] = {}

    def keep(seen: Seen, maps: Tensor, store: dict[int, list[Tensor]]) -> None:
        for place, real in enumerate(seen.view.queries.sizes):
            store.setdefault(place, []).append(maps[place, :, :real, :real].clone())

    pieces = model.encode([Example(text, text=text) for text in TEXTS])
    for store in (plain, weighted):
        watcher = MapWatcher(partial(keep, store=store))
        with model.watch(watcher, norm_weighted=store is weighted) as tap:
            tap.forward(model.batch(pieces))  # padded
    for number, text in enumerate(TEXTS):
        values = values_of(model, text, monkeypatch)
        reference = by_definition(model, plain[number], values)
        for ours, expected, weights in zip(weighted[number], reference, plain[number], strict=True):
            torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)
            assert not torch.allclose(ours, weights, atol=1e-3)


def test_grouped_values_serve_several_heads() -> None:
    model = tiny("llama")
    norms: list[Tensor] = []

    class Watcher:
        def ask(self, view: View) -> dict[str, Request]:
            return {"norms": Norms()}

        def observe(self, seen: Seen) -> None:
            norms.append(seen["norms"])

    with model.watch(Watcher()) as tap:
        tap.forward(model.batch(model.encode([Example("a", text=TEXTS[0])])))
    assert {layer.shape[1] for layer in norms} == {model.heads}
    assert not torch.allclose(norms[0][:, 0], norms[0][:, 1])
