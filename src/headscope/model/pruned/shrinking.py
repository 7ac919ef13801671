"""Removing heads from a network: smaller matrices, the same outputs as with the heads at zero.

The rows of a head are removed from the projections into it, and its columns from the output
projection. How the outputs of a projection are laid out is found by trying: rows that belong to a
head can be set to zero without any effect once the head is switched off. The smaller network is
accepted only if it gives what the larger one gives with the same heads at zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headscope.errors import ModelError
from headscope.model.disabling import disable
from headscope.model.model import Model
from headscope.model.pruned.kept import CONFIG_KEY, HEADS_KEY, SHAPES_KEY, RemainingHeads
from headscope.model.pruned.layouts import NEAR, Layouts, Rows, Selection
from headscope.model.pruned.linear import LINEAR, fold_into_bias, outputs_of, parts_of, select
from headscope.model.pruned.projections import (
    LayerProjections,
    find_projections,
    note_biases,
    sample_output,
)
from headscope.model.pruned.shapes import HeadBias, share_rows

HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "num_q_heads", "heads")
GROUPS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "num_key_value_head")
SIZES = ("all_head_size", "embed_dim", "split_size", "inner_dim", "hidden_size", "attn_dim")
REPEATS = "num_key_value_groups"
RUN_ERRORS = (
    RuntimeError,
    ValueError,
    IndexError,
    AttributeError,
    TypeError,
    AssertionError,
)


def shrink(model: Model, remaining: RemainingHeads, means: Tensor | None = None) -> Model:
    """A copy of a model that has only the remaining heads.

    Args:
        means: (layer, head, size) mean outputs, to be folded into the biases of the output
            projections; None: the other heads give zero.
    """
    exact = _in_float32(model)
    layers = find_projections(exact)
    changed = {n: layer for n, layer in layers.items() if len(remaining[n]) < layer.heads}
    rows = _rows(exact, changed)
    note_biases(exact, changed)
    expected = _expected(exact, changed, remaining, means)
    for attempt in itertools.starmap(_Attempt, itertools.product((False, True), repeat=3)):
        smaller = exact.copy()
        shrinking = _Shrinking(smaller.network, rows, attempt)
        try:
            shrinking.shrink_all(changed, remaining, means)
            found = sample_output(smaller)
        except RUN_ERRORS:
            continue
        if float((found - expected).abs().max()) <= NEAR * float(expected.abs().max()):
            if exact is not model:
                smaller = model.copy()
                shrinking = _Shrinking(smaller.network, rows, attempt)
                shrinking.shrink_all(changed, remaining, means)
            setattr(smaller.network.config, SHAPES_KEY, shrinking.shapes)
            setattr(smaller.network.config, HEADS_KEY, list(model.head_counts))
            setattr(smaller.network.config, CONFIG_KEY, [list(kept) for kept in remaining])
            return smaller
    hint = "" if means is None else " and giving their mean instead; at zero there may be one"
    raise ModelError(
        f"no way was found to remove heads from {model.name} (family {model.adapter.family!r}) "
        f"that gives the same as switching them off{hint}"
    )


def _in_float32(model: Model) -> Model:
    """The model itself, or a copy in which rounding does not hide whether two outputs are equal."""
    if model.network.dtype == torch.float32:
        return model
    exact = model.copy()
    exact.whole.float()
    return exact


def _rows(model: Model, layers: dict[int, LayerProjections]) -> dict[str, Rows]:
    """The layouts of the projections before the heads; those not split into heads are dropped."""
    layouts, rows = Layouts(model), {}
    for number, layer in layers.items():
        for name in layer.inputs:
            if (layout := layouts.of(number, layer, name)) is not None:
                rows[name] = layout
        layer.inputs = [name for name in layer.inputs if name in rows]
    return rows


def _expected(
    model: Model,
    layers: dict[int, LayerProjections],
    remaining: RemainingHeads,
    means: Tensor | None,
) -> Tensor:
    """The output of a model with all heads but the remaining ones off."""
    gone = [
        (number, head)
        for number, layer in layers.items()
        for head in range(layer.heads)
        if head not in remaining[number]
    ]
    with disable(model, gone, "zero" if means is None else "mean", means):
        return sample_output(model)


class _Attempt(NamedTuple):
    """What cannot be told from shapes, and is tried.

    Attributes:
        within: vectors with as many numbers as there are heads belong to the numbers within a head.
        everything: say the number of heads to modules that hold it, not only what must be said.
        vectors: take vectors of the size of all heads for such that are split into heads.
    """

    within: bool
    everything: bool
    vectors: bool


class _Shrinking:
    """Shrinks the layers of a network.

    Args:
        rows: the layouts of the projections before the heads, by name.

    Attributes:
        shapes: of what has changed (see `resize`).
    """

    def __init__(self, network: PreTrainedModel, rows: dict[str, Rows], attempt: _Attempt) -> None:
        self.network, self.rows, self.attempt = network, rows, attempt
        self.shapes: dict[str, dict[str, Any]] = {
            key: {} for key in ("parameters", "rows", "biases", "attributes")
        }

    def shrink_all(
        self,
        layers: dict[int, LayerProjections],
        remaining: RemainingHeads,
        means: Tensor | None,
    ) -> None:
        """Leave only the remaining heads of layers."""
        for number, layer in layers.items():
            self.shrink(layer, remaining[number], None if means is None else means[number])

    @torch.no_grad()
    def shrink(self, layer: LayerProjections, kept: Sequence[int], means: Tensor | None) -> None:
        """Leave only some heads of a layer.

        Args:
            means: (head, size) mean outputs, to be folded into the bias of the output projection.
        """
        attention = self.network.get_submodule(layer.attention)
        before = {name: parameter.shape for name, parameter in attention.named_parameters()}
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
        select(projection, columns, outputs=False)
        for name, parameter in list(attention.named_parameters()):
            self._select_parameter(f"{layer.attention}.{name}", parameter, selection)
        if layer.biased:
            heads = list(selection.heads)
            attention.register_forward_pre_hook(HeadBias(layer.heads, heads), with_kwargs=True)
            self.shapes["biases"][layer.attention] = [layer.heads, heads]
        self._set_attributes(selection)
        for name, parameter in attention.named_parameters():
            if before.get(name) != parameter.shape:
                self.shapes["parameters"][f"{layer.attention}.{name}"] = list(parameter.shape)

    def _select_rows(self, name: str, selection: Selection) -> None:
        module = self.network.get_submodule(name)
        rows, expand = selection.rows(outputs_of(module), self.rows[name])
        select(module, rows, outputs=True)
        if expand is not None:
            if isinstance(module, Conv1D):
                raise ValueError("a projection of this kind cannot be shared unevenly")
            self.shapes["rows"][name] = expand.tolist()
            share_rows(module, expand.tolist())

    def _select_parameter(self, name: str, parameter: Tensor, selection: Selection) -> None:
        """Keep the rows of a parameter that has one for each head: sinks, norms of single heads."""
        layer, (owner, _, leaf) = selection.layer, name.rpartition(".")
        module = self.network.get_submodule(owner)
        if isinstance(module, LINEAR):
            return
        chosen: Sequence[int] | None = None
        if parameter.shape[:1] == (layer.heads,) and not self.attempt.within:
            chosen = selection.heads
        elif self.attempt.vectors and parameter.shape == (layer.heads * layer.size,):
            chosen = parts_of(layer.heads, layer.size, selection.heads).tolist()
        elif parameter.dim() == 2 and parameter.shape[0] == layer.groups:
            places = selection.expand or range(len(selection.groups))
            chosen = [selection.groups[place] for place in places]
        if chosen is not None:
            kept = parameter[torch.tensor(chosen, device=parameter.device)]
            setattr(module, leaf, nn.Parameter(kept))
        elif isinstance(module, nn.Embedding) and parameter.shape[1] == layer.heads:
            # a table of position biases, a column for each head
            setattr(module, leaf, nn.Parameter(parameter[:, list(selection.heads)]))
            module.embedding_dim = len(selection.heads)

    def _set_attributes(self, selection: Selection) -> None:
        """Say how many heads there are to the modules of a layer that want to know."""
        layer = selection.layer
        groups = len(selection.heads) if selection.expand else len(selection.groups)
        total, kept = layer.heads * layer.size, len(selection.heads) * layer.size
        for name, module in self._modules(layer):
            known = vars(module)
            values = {REPEATS: selection.repeats} if REPEATS in known else {}
            if self.attempt.everything:
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
            if not isinstance(module, LINEAR):
                yield f"{layer.attention}.{name}".rstrip("."), module
