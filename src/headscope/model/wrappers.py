"""Networks that are wrapped by torch.compile or by adapters of peft: what is analysed instead."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from headscope.errors import ModelError
from headscope.model.modes import evaluating

NEAR = 1e-3
"""How far the outputs may differ after adapters were merged, relative to the largest."""
MERGING_ERRORS = (RuntimeError, ValueError, AttributeError, NotImplementedError, TypeError)


def unwrapped(network: Any) -> PreTrainedModel:
    """The network of transformers itself.

    Of a compiled one the original; of one with adapters (LoRA and others of peft) a copy in which
    they are merged into the weights, so that weights are what they seem to be.
    """
    network = getattr(network, "_orig_mod", network)  # torch.compile's wrapper
    if _is_peft(network) or (isinstance(network, nn.Module) and _has_adapters(network)):
        network = _merged(network)
    if not isinstance(network, PreTrainedModel):
        raise ModelError(f"{type(network).__name__} is no model of transformers (PreTrainedModel)")
    if any(module._compiled_call_impl is not None for module in network.modules()):
        raise ModelError(
            f"{type(network).__name__} was compiled in place, so that its attention cannot be "
            "changed; wrap it before it is compiled"
        )
    return network


def _is_peft(network: Any) -> bool:
    """Whether a network is a model of peft, which holds one of transformers."""
    return hasattr(network, "peft_config") and hasattr(network, "get_base_model")


def _has_adapters(network: nn.Module) -> bool:
    """Whether layers of adapters stand in for modules of a network."""
    return any(hasattr(module, "get_base_layer") for module in network.modules())


def _merged(network: Any) -> Any:
    """A copy of a network, its adapters merged into the weights; an error where that fails."""
    kind = type(network).__name__
    if (
        getattr(network, "active_peft_config", None)
        and network.active_peft_config.is_prompt_learning
    ):
        raise ModelError(
            f"{kind} attends to prompts that are learned vectors, not tokens; headscope cannot "
            "show such attention"
        )
    try:
        merged = copy.deepcopy(network)
        merged = merged.merge_and_unload() if _is_peft(merged) else _merge_layers(merged)
    except MERGING_ERRORS as error:
        raise ModelError(
            f"the adapters of {kind} cannot be merged into its weights ({type(error).__name__}); "
            "merge them yourself, and wrap the result"
        ) from error
    if not _agree(network, merged):
        raise ModelError(
            f"{kind} gives something else once its adapters are merged into its weights, so they "
            "do more than change weights; headscope cannot analyse such adapters"
        )
    return merged


def _merge_layers(network: nn.Module) -> nn.Module:
    """Merge the layers of adapters that were put into a network, in place."""
    for name, module in list(network.named_modules()):
        layer: Any = module
        if hasattr(layer, "get_base_layer"):
            if not layer.disable_adapters:
                layer.merge()
            owner, _, leaf = name.rpartition(".")
            setattr(network.get_submodule(owner), leaf, layer.get_base_layer())
    vars(network)["_hf_peft_config_loaded"] = False
    return network


@torch.inference_mode()
def _agree(one: nn.Module, other: nn.Module) -> bool:
    """Whether two networks give the same for some tokens, without dropout."""
    ids = torch.arange(5, 21, device=next(other.parameters()).device)[None]
    with evaluating(one), evaluating(other):
        outputs = [each(input_ids=ids)[0].float() for each in (one, other)]
    difference = float((outputs[0] - outputs[1]).abs().max())
    return difference <= NEAR * float(outputs[0].abs().max())
