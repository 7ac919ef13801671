"""Removing heads from a network of any family whose projections can be found.

How the outputs of a projection are laid out is found by trying: rows that belong to a head can be
set to zero without any effect once the head is switched off. The smaller network is accepted only
if it gives what the larger one gives with the same heads at zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headscope.errors import ModelError
from headscope.model.disabling import disable
from headscope.model.model import Model
from headscope.model.pruned.layouts import NEAR, Layouts, Rows, Selection, outputs_of, parts_of
from headscope.model.pruned.projections import LayerProjections, find_projections, sample
from headscope.model.pruned.shapes import resize
from headscope.model.pruned.shrink import (
    CONFIG_KEY,
    HEADS_KEY,
    SHAPES_KEY,
    RemainingHeads,
    fold_into_bias,
)

HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "num_q_heads", "heads")
GROUPS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "num_key_value_head")
SIZES = ("all_head_size", "embed_dim", "split_size", "inner_dim", "hidden_size", "attn_dim")
REPEATS = "num_key_value_groups"
RUN_ERRORS = (RuntimeError, ValueError, IndexError, AttributeError, TypeError)


def shrink_any(
    model: Model, pruned: Model, remaining: RemainingHeads, means: Tensor | None
) -> None:
    """Remove, in place, all heads of a copy of a model but the remaining ones."""
    network, batch = model.network, sample(model)
    layers, layouts = find_projections(model), Layouts(model)
    changed = {n: layer for n, layer in layers.items() if len(remaining[n]) < layer.heads}
    chosen = {
        name: layouts.of(number, layer, name)
        for number, layer in changed.items()
        for name in layer.inputs
    }
    for layer in changed.values():
        layer.inputs = [name for name in layer.inputs if chosen[name] is not None]
    gone = [
        (number, head)
        for number, layer in changed.items()
        for head in range(layer.heads)
        if head not in remaining[number]
    ]
    with (
        torch.inference_mode(),
        disable(model, gone, "mean" if means is not None else "zero", means),
    ):
        expected = network(**batch.inputs(network))[0][batch.real]
    for attributes, vectors in itertools.product((False, True), repeat=2):
        attempt = model.copy()
        shrinking = _Shrinking(attempt.network, chosen, everything=attributes, vectors=vectors)
        try:
            for number, layer in changed.items():
                shrinking.shrink(layer, remaining[number], None if means is None else means[number])
            with torch.inference_mode():
                output = attempt.network(**batch.inputs(attempt.network))[0][batch.real]
        except RUN_ERRORS:
            continue
        if float((output - expected).abs().max()) <= NEAR * float(expected.abs().max()):
            pruned.network, pruned.with_top = attempt.network, attempt.with_top
            entries = {
                SHAPES_KEY: shrinking.shapes,
                HEADS_KEY: list(model.head_counts),
                CONFIG_KEY: [list(kept) for kept in remaining],
            }
            for key, value in entries.items():
                setattr(pruned.network.config, key, value)
            return
    raise ModelError(
        f"no way was found to remove heads from {model.name} (family {model.adapter.family!r}) "
        "that gives the same as switching them off"
    )


class _Shrinking:
    """Shrinks the layers of a network.

    Args:
        layouts: of the projections before the heads, by name.
        everything: say the number of heads to modules that hold it, not only what must be said.
        vectors: take vectors of the size of all heads for such that are split into heads.

    Attributes:
        shapes: of what has changed (see `resize`).
    """

    def __init__(
        self,
        network: PreTrainedModel,
        layouts: dict[str, Rows | None],
        *,
        everything: bool,
        vectors: bool,
    ) -> None:
        self.network, self.layouts = network, layouts
        self.everything, self.vectors = everything, vectors
        self.shapes: dict[str, Any] = {"parameters": {}, "expand": {}, "attributes": {}}

    @torch.no_grad()
    def shrink(self, layer: LayerProjections, kept: Sequence[int], means: Tensor | None) -> None:
        """Leave only some heads of a layer.

        Args:
            means: (head, size) mean outputs, to be folded into the bias of the output projection.
        """
        projection = self.network.get_submodule(layer.output)
        if means is not None:
            removed = [head for head in range(layer.heads) if head not in kept]
            fold_into_bias(projection, means[: layer.heads], removed)
        if not kept:  # one head stays, and gives nothing
            projection.get_parameter("weight").zero_()
        selection = Selection(layer, kept or (0,))
        for name in layer.inputs:
            self._select_rows(name, selection)
        columns = parts_of(layer.heads, layer.size, selection.heads)
        _select(projection, columns, outputs=False)
        attention = self.network.get_submodule(layer.attention)
        for name, parameter in list(attention.named_parameters()):
            self._select_parameter(f"{layer.attention}.{name}", parameter, selection)
        self._set_attributes(selection)
        for name, parameter in attention.named_parameters():
            self.shapes["parameters"][f"{layer.attention}.{name}"] = list(parameter.shape)

    def _select_rows(self, name: str, selection: Selection) -> None:
        module, layout = self.network.get_submodule(name), self.layouts[name]
        assert layout is not None
        rows, expand = selection.rows(outputs_of(module), layout)
        _select(module, rows, outputs=True)
        if expand is not None:
            if isinstance(module, Conv1D):
                raise ValueError("a projection of this kind cannot be shared unevenly")
            self.shapes["expand"][name] = expand.tolist()
            resize(module, {"parameters": {}, "expand": {"": expand.tolist()}, "attributes": {}})

    def _select_parameter(self, name: str, parameter: Tensor, selection: Selection) -> None:
        """Keep the rows of a parameter that has one for each head: sinks, norms of single heads."""
        layer, (owner, _, leaf) = selection.layer, name.rpartition(".")
        module = self.network.get_submodule(owner)
        if isinstance(module, nn.Linear | Conv1D):
            return
        chosen: Sequence[int] | None = None
        if parameter.shape[:1] == (layer.heads,):
            chosen = selection.heads
        elif self.vectors and parameter.shape == (layer.heads * layer.size,):
            chosen = parts_of(layer.heads, layer.size, selection.heads).tolist()
        elif parameter.dim() == 2 and parameter.shape[0] == layer.groups:
            places = selection.expand or range(len(selection.groups))
            chosen = [selection.groups[place] for place in places]
        if chosen is not None:
            kept = parameter[torch.tensor(chosen, device=parameter.device)]
            setattr(module, leaf, nn.Parameter(kept))

    def _set_attributes(self, selection: Selection) -> None:
        """Say how many heads there are to the modules of a layer that want to know."""
        layer = selection.layer
        groups = len(selection.heads) if selection.expand else len(selection.groups)
        total, kept = layer.heads * layer.size, len(selection.heads) * layer.size
        for name, module in self._modules(layer):
            known = vars(module)
            values = {REPEATS: selection.repeats} if REPEATS in known else {}
            if self.everything:
                heads = len(selection.heads)
                values |= {key: heads for key in HEADS if known.get(key) == layer.heads}
                values |= {key: groups for key in GROUPS if known.get(key) == layer.groups}
                values |= {key: kept for key in SIZES if known.get(key) == total}
            for key, value in values.items():
                setattr(module, key, value)
            if values:
                self.shapes["attributes"][name] = values

    def _modules(self, layer: LayerProjections) -> Iterator[tuple[str, nn.Module]]:
        for name, module in self.network.get_submodule(layer.attention).named_modules():
            if not isinstance(module, nn.Linear | Conv1D):
                yield f"{layer.attention}.{name}".rstrip("."), module


def _select(module: nn.Module, indices: Tensor, *, outputs: bool) -> None:
    """Keep only some outputs, or some inputs, of a linear map."""
    weight = module.get_parameter("weight")
    transposed = isinstance(module, Conv1D)  # its weight is (in, out)
    indices = indices.to(weight.device)
    module.weight = nn.Parameter(weight.index_select(int(outputs is transposed), indices))
    if outputs and isinstance(module.bias, Tensor):
        module.bias = nn.Parameter(module.bias[indices])
    names = ("nx", "nf") if transposed else ("in_features", "out_features")
    setattr(module, names[outputs], len(indices))
