"""Finding out how the attention of a model can be seen, and making sure that it is seen rightly.

Two short batches, one padded and one not, are run while the model is watched and while it is not.
The maps must be those that the model itself returns under eager attention, the mask must fit them,
the output must not change, and switching a head off must change it. A model for which no way to
watch it passes is refused: a wrong number is worse than none.
"""

from __future__ import annotations

from dataclasses import replace

from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headscope.errors import ModelError
from headscope.model.adapters import Adapter, Route, family_of
from headscope.model.hooks.tap import exclusive
from headscope.model.stacks import Found, find_stacks
from headscope.model.two_stacks import has_two_stacks
from headscope.model.verification import NOTHING_SEEN, Verification

DEFAULT_MAX_LENGTH = 4096
"""Largest number of tokens where neither the model nor its tokenizer sets a limit."""


def detect_attention(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Found:
    """Find a way to watch a model, and verify it.

    A family with an adapter is watched by it. For any other family, each way is tried until one
    passes.
    """
    name = f"{type(network).__name__} (family {network.config.model_type!r})"
    if refusal := _refusal(network):
        raise ModelError(f"{name} {refusal}")
    reserved = reserved_positions(network)
    if has_two_stacks(network):
        adapter = Adapter(network.config.model_type, reserved_positions=reserved)
        try:
            with exclusive(network):
                return find_stacks(network, tokenizer, adapter)
        except ModelError as error:
            raise ModelError(f"{name} cannot be watched: {error}") from None
    reasons = []
    for candidate in _candidates(network):
        adapter = replace(candidate, reserved_positions=candidate.reserved_positions or reserved)
        try:
            with exclusive(network):
                return Found(*Verification(network, tokenizer, adapter).run())
        except ModelError as error:
            reasons.append(str(error))
    raise ModelError(f"{name} cannot be watched: {max(reasons, key=_telling)}")


def _telling(reason: str) -> bool:
    """What says most of why a model cannot be watched: not that there was nothing to see."""
    return reason != NOTHING_SEEN


def _refusal(network: PreTrainedModel) -> str | None:
    """Why a model is not tried at all."""
    config = network.config
    if getattr(config, "attention_type", None) == "block_sparse":
        return (
            "attends in sparse blocks to long texts, which is no map over tokens; in Python, load "
            "it with attention_type='original_full' and wrap it (headscope.wrap)"
        )
    return None


def _candidates(network: PreTrainedModel) -> list[Adapter]:
    """Ways to watch a model, the best first."""
    stated = family_of(network.config)
    if stated is not None:
        return [stated]
    family = network.config.model_type
    return [Adapter(family, route) for route in Route]


def reserved_positions(network: nn.Module) -> int:
    """Entries of the position table that no token uses: those up to the id of padding, in families
    that count positions from there.
    """
    for name, module in network.named_modules():
        padding = getattr(module, "padding_idx", None)
        if name.endswith("position_embeddings") and isinstance(padding, int):
            return padding + 1
    return 0
