"""Removing heads from a network: smaller matrices, the same outputs as with the heads at zero.

The rows of a head are removed from the projections into it, and its columns from the output
projection. A layer may lose any number of heads; one that loses all of them skips its attention
and adds only the bias of its output projection. The configuration lists the heads that remain, so
that a saved folder can be loaded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MethodType
from typing import Any, cast

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headscope.errors import ModelError
from headscope.model.adapters import Adapter, family_of

CONFIG_KEY = "headscope_kept"
"""The entry of a configuration that lists the remaining heads of each layer."""
SHAPES_KEY, HEADS_KEY = "headscope_shapes", "headscope_heads"
"""Entries for families without an adapter: the shapes of modules, and the heads before pruning."""
RemainingHeads = tuple[tuple[int, ...], ...]
"""For each layer, the numbers of the heads that were not removed."""


def remaining_heads(config: PretrainedConfig) -> RemainingHeads | None:
    """The heads that remain in each layer; None if no head was removed.

    >>> remaining_heads(PretrainedConfig(headscope_kept=[[0, 2], []]))
    ((0, 2), ())
    """
    layers = getattr(config, CONFIG_KEY, None)
    return None if layers is None else tuple(tuple(heads) for heads in layers)


def check_intact(network: PreTrainedModel) -> None:
    """Raise an error if heads were removed: analyses compare all heads of all layers."""
    if remaining_heads(network.config) is not None:
        raise ModelError("this model is pruned; analyse the heads of the unpruned model instead")


def shrink_network(
    network: PreTrainedModel,
    adapter: Adapter,
    heads: int,
    remaining: RemainingHeads,
    means: Tensor | None = None,
) -> None:
    """Remove, in place, all heads of a network but the remaining ones.

    Args:
        heads: the number of heads in each layer.
        means: (layer, head, size) mean outputs of the heads, to be folded into the biases of the
            output projections.
    """
    blocks = adapter.blocks(network)
    if len(blocks) != len(remaining):
        raise ModelError(
            f"the layers of {adapter.family!r} share one module, so a head cannot be removed from "
            "one of them alone"
        )
    if not adapter.attention_module:
        raise ModelError(f"headscope does not know how to remove heads from {adapter.family!r}")
    for layer, (block, kept) in enumerate(zip(blocks, remaining, strict=True)):
        if len(kept) < heads:
            _shrink_layer(block, adapter, heads, kept, None if means is None else means[layer])
    if any(len(kept) < heads for kept in remaining):
        setattr(network.config, CONFIG_KEY, [list(kept) for kept in remaining])


def load_pruned_weights(
    folder: Path, network: PreTrainedModel
) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Load the weights of a pruned model into a network made from the folder's configuration.

    Returns:
        The network without the heads that were removed, and the loading info that transformers
        would give: the missing weights.
    """
    inner, config = cast(PreTrainedModel, network.base_model), network.config
    adapter, remaining = family_of(config), remaining_heads(config)
    if adapter is None or remaining is None:
        raise ModelError(f"{folder}: its configuration was not written by headscope")
    shrink_network(inner, adapter, config.num_attention_heads, remaining)
    weights = _renamed(load_file(folder / "model.safetensors"), network)
    modules = dict(network.named_modules())
    for name, weight in weights.items():
        owner, _, leaf = name.rpartition(".")
        if owner in modules and getattr(modules[owner], leaf, weight) is None:
            # a bias that the network lacks, made by folding mean outputs into it
            setattr(modules[owner], leaf, nn.Parameter(weight))
    result = network.load_state_dict(weights, strict=False)
    network.tie_weights()
    tied = set(network.all_tied_weights_keys)
    return network, {"missing_keys": set(result.missing_keys) - tied}


def _renamed(weights: dict[str, Tensor], network: PreTrainedModel) -> dict[str, Tensor]:
    """Weights under their names in a network, which may have more or less on top than the file."""
    prefix = f"{network.base_model_prefix}."
    bare = network.base_model is network
    prefixed = any(name.startswith(prefix) for name in weights)
    if bare and prefixed:
        return {
            name.removeprefix(prefix): weight
            for name, weight in weights.items()
            if name.startswith(prefix)
        }
    if not bare and not prefixed:
        return {prefix + name: weight for name, weight in weights.items()}
    return weights


@torch.no_grad()
def _shrink_layer(
    block: nn.Module, adapter: Adapter, heads: int, kept: Sequence[int], means: Tensor | None
) -> None:
    attention = block.get_submodule(adapter.attention_module)
    projection = block.get_submodule(adapter.output_projection)
    inputs = projection.get_parameter("weight").shape[0 if isinstance(projection, Conv1D) else 1]
    size = inputs // heads
    if means is not None:
        fold_into_bias(projection, means, [head for head in range(heads) if head not in kept])
    for name in adapter.qkv_modules:
        if isinstance(part := getattr(attention, name, None), nn.Module):
            _select(part, _output_indices(part, heads, size, kept), outputs=True)
    _select(projection, _head_indices(heads, size, kept), outputs=False)
    if adapter.all_head_size_attr:
        setattr(attention, adapter.all_head_size_attr, len(kept) * size)
    if adapter.num_heads_attr:
        setattr(attention, adapter.num_heads_attr, len(kept))
    if not kept:
        prefix = f"{adapter.attention_module}."
        inside = adapter.output_projection.startswith(prefix)
        path = adapter.output_projection.removeprefix(prefix) if inside else ""
        forward = MethodType(_skip_attention, attention)
        vars(attention).update(headscope_output=path, forward=forward)
    elif adapter.head_bias_argument is not None:
        attention.register_forward_pre_hook(_SelectBias(adapter.head_bias_argument, list(kept)))


def _head_indices(heads: int, size: int, kept: Sequence[int]) -> Tensor:
    """(kept * size,) indices of some heads in a vector of all heads."""
    return torch.arange(heads * size).view(heads, size)[list(kept)].flatten()


def _output_indices(part: nn.Module, heads: int, size: int, kept: Sequence[int]) -> Tensor:
    """Indices of some heads in the output of a projection, which may be fused (q, k, v)."""
    total = part.get_parameter("weight").shape[1 if isinstance(part, Conv1D) else 0]
    starts = torch.arange(0, total, heads * size)
    return (starts[:, None] + _head_indices(heads, size, kept)).flatten()


def _select(part: nn.Module, indices: Tensor, *, outputs: bool) -> None:
    """Keep only some outputs, or some inputs, of a linear map."""
    weight = part.get_parameter("weight")
    transposed = isinstance(part, Conv1D)  # its weight is (in, out)
    axis = int(outputs is transposed)
    part.weight = nn.Parameter(weight.index_select(axis, indices.to(weight.device)))
    if outputs and isinstance(part.bias, Tensor):
        part.bias = nn.Parameter(part.bias[indices.to(weight.device)])
    size_attrs = ("nx", "nf") if transposed else ("in_features", "out_features")
    setattr(part, size_attrs[outputs], len(indices))


def fold_into_bias(projection: nn.Module, means: Tensor, removed: Sequence[int]) -> None:
    """Add the mean outputs of removed heads, (head, size), to the bias of the output projection."""
    weight = projection.get_parameter("weight")
    rows = weight if isinstance(projection, Conv1D) else weight.T  # (heads * size, hidden)
    indices = _head_indices(len(means), means.shape[-1], removed)
    mean = means[list(removed)].to(weight).flatten() @ rows[indices]
    bias = projection.bias if isinstance(projection.bias, Tensor) else torch.zeros_like(mean)
    projection.bias = nn.Parameter(bias + mean)


def _skip_attention(self: nn.Module, hidden_states: Tensor, *_: Any, **__: Any) -> tuple[Any, ...]:
    """Output of an attention module without heads.

    Empty if the output projection follows the module, the bias of the projection if it is inside.
    """
    if not self.headscope_output:
        return hidden_states[..., :0], None
    bias = self.get_submodule(str(self.headscope_output)).bias
    zeros = torch.zeros_like(hidden_states)
    return zeros + bias if isinstance(bias, Tensor) else zeros, None


class _SelectBias:
    """Selects the rows of the remaining heads in a bias that is an argument of the attention."""

    def __init__(self, position: int, kept: list[int]) -> None:
        self.position, self.kept = position, kept

    def __call__(self, _: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        bias = arguments[self.position]
        selected = None if bias is None else bias[:, self.kept]
        return (*arguments[: self.position], selected, *arguments[self.position + 1 :])
