"""Removing heads for real: smaller matrices, the same outputs as if the heads gave nothing.

A head's rows of the projections into it go, and its columns of the output projection. A layer may
lose any of its heads; one that loses all of them skips its attention and keeps what its output
projection adds in any case, its bias. Which heads are left stands in the configuration, so that a
folder can be read again.
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

KEPT = "headscope_kept"
"""The entry of a configuration that says which heads each layer has kept."""
Kept = tuple[tuple[int, ...], ...]


def kept_of(config: PretrainedConfig) -> Kept | None:
    """The heads that are left in each layer; None where none was removed."""
    found = getattr(config, KEPT, None)
    return None if found is None else tuple(tuple(some) for some in found)


def check_intact(network: PreTrainedModel) -> None:
    """Heads of different layers are compared, so all must be there."""
    if kept_of(network.config) is not None:
        raise ModelError(
            "this model has lost heads: it does its task, but what its heads do is told of the "
            "intact model"
        )


def shrink(
    network: PreTrainedModel,
    adapter: Adapter,
    heads: int,
    kept: Kept,
    means: Tensor | None = None,
) -> None:
    """Take from a network, in place, all heads but these of each layer."""
    blocks = adapter.blocks(network)
    if len(blocks) != len(kept):
        raise ModelError(
            f"the layers of {adapter.family!r} share one module, so a head cannot be removed from "
            "one of them alone"
        )
    if not adapter.core:
        raise ModelError(f"headscope does not know how heads of {adapter.family!r} are removed")
    for layer, (block, some) in enumerate(zip(blocks, kept, strict=True)):
        if len(some) < heads:
            mean = None if means is None else means[layer]
            _shrink_layer(block, adapter, heads, some, mean)
    if any(len(some) < heads for some in kept):
        setattr(network.config, KEPT, [list(some) for some in kept])


def restored(folder: Path, network: PreTrainedModel) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Fill a network, made from the configuration of a folder, with the folder's weights.

    Returns:
        The network without the heads that were removed, and what transformers would say of
        loading it: the weights that are missing.
    """
    inner, config = cast(PreTrainedModel, network.base_model), network.config
    adapter, kept = family_of(config), kept_of(config)
    if adapter is None or kept is None:
        raise ModelError(f"{folder}: its configuration is not one that headscope wrote")
    shrink(inner, adapter, config.num_attention_heads, kept)
    weights, prefix = load_file(folder / "model.safetensors"), f"{network.base_model_prefix}."
    headed = any(name.startswith(prefix) for name in weights)
    if inner is network and headed:
        weights = {name.removeprefix(prefix): one for name, one in weights.items()
                   if name.startswith(prefix)}  # fmt: skip
    elif inner is not network and not headed:
        weights = {prefix + name: one for name, one in weights.items()}
    modules = dict(network.named_modules())
    for name, one in weights.items():
        owner, _, leaf = name.rpartition(".")
        if owner in modules and getattr(modules[owner], leaf, one) is None:
            setattr(modules[owner], leaf, nn.Parameter(one))  # a bias that means made
    found = network.load_state_dict(weights, strict=False)
    network.tie_weights()
    tied = set(network.all_tied_weights_keys)
    return network, {"missing_keys": set(found.missing_keys) - tied}


@torch.no_grad()
def _shrink_layer(
    block: nn.Module, adapter: Adapter, heads: int, kept: Sequence[int], means: Tensor | None
) -> None:
    core, output = block.get_submodule(adapter.core), block.get_submodule(adapter.output)
    rows = output.get_parameter("weight").shape[0 if isinstance(output, Conv1D) else 1]
    size = rows // heads
    if means is not None:
        _fold(output, means, [head for head in range(heads) if head not in kept])
    for name in adapter.into:
        if isinstance(part := getattr(core, name, None), nn.Module):
            _select(part, _places(part, heads, size, kept), outputs=True)
    _select(output, _within(heads, size, kept), outputs=False)
    if adapter.width:
        setattr(core, adapter.width, len(kept) * size)
    if adapter.count:
        setattr(core, adapter.count, len(kept))
    if not kept:
        inner = adapter.output.startswith(f"{adapter.core}.")
        name = adapter.output.removeprefix(f"{adapter.core}.") if inner else ""
        vars(core).update(headscope_output=name, forward=MethodType(_no_attention, core))
    elif adapter.bias is not None:
        core.register_forward_pre_hook(_BiasOf(adapter.bias, list(kept)))


def _within(heads: int, size: int, kept: Sequence[int]) -> Tensor:
    """Where the numbers of some heads stand in a row of all heads."""
    return torch.arange(heads * size).view(heads, size)[list(kept)].flatten()


def _places(part: nn.Module, heads: int, size: int, kept: Sequence[int]) -> Tensor:
    """Where a projection makes the numbers of some heads, for each thing that it makes."""
    total = part.get_parameter("weight").shape[1 if isinstance(part, Conv1D) else 0]
    starts = torch.arange(0, total, heads * size)
    return (starts[:, None] + _within(heads, size, kept)).flatten()


def _select(part: nn.Module, places: Tensor, *, outputs: bool) -> None:
    """Keep only some outputs, or some inputs, of a linear map."""
    weight = part.get_parameter("weight")
    turned = isinstance(part, Conv1D)  # it keeps (in, out)
    axis = int(outputs is turned)
    part.weight = nn.Parameter(weight.index_select(axis, places.to(weight.device)))
    if outputs and isinstance(part.bias, Tensor):
        part.bias = nn.Parameter(part.bias[places.to(weight.device)])
    many, sizes = len(places), ("nx", "nf") if turned else ("in_features", "out_features")
    setattr(part, sizes[outputs], many)


def _fold(output: nn.Module, means: Tensor, gone: Sequence[int]) -> None:
    """Add what heads give on average to the bias of the output projection."""
    weight = output.get_parameter("weight")
    rows = weight if isinstance(output, Conv1D) else weight.T  # (heads * size, hidden)
    size = means.shape[-1]
    given = means[list(gone)].to(weight).flatten() @ rows[_within(len(means), size, gone)]
    bias = output.bias if isinstance(output.bias, Tensor) else torch.zeros_like(given)
    output.bias = nn.Parameter(bias + given)


def _no_attention(self: nn.Module, hidden_states: Tensor, *_: Any, **__: Any) -> tuple[Any, ...]:
    """What an attention without heads hands on: nothing, or what its output adds in any case."""
    if not self.headscope_output:
        return hidden_states[..., :0], None
    bias = self.get_submodule(str(self.headscope_output)).bias
    nothing = torch.zeros_like(hidden_states)
    return nothing + bias if isinstance(bias, Tensor) else nothing, None


class _BiasOf:
    """Hands on the rows of a bias that belong to the heads that are left."""

    def __init__(self, place: int, kept: list[int]) -> None:
        self.place, self.kept = place, kept

    def __call__(self, _: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        before, bias, after = (
            arguments[: self.place],
            arguments[self.place],
            arguments[self.place + 1 :],
        )
        return (*before, None if bias is None else bias[:, self.kept], *after)
