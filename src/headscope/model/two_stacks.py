"""Models with an encoder and a decoder: telling them, and their two parts."""

from __future__ import annotations

from typing import cast

from torch import nn
from transformers import PreTrainedModel


def has_two_stacks(network: PreTrainedModel) -> bool:
    """Whether a network has an encoder and a decoder that looks at what the encoder gives."""
    parts = (getattr(network, name, None) for name in ("encoder", "decoder"))
    stated = bool(getattr(network.config, "is_encoder_decoder", False))
    return stated and all(isinstance(part, nn.Module) for part in parts)


def stacks_of(network: PreTrainedModel) -> tuple[PreTrainedModel, PreTrainedModel]:
    """The encoder and the decoder; a model that generates runs them one by one."""
    return cast(PreTrainedModel, network.encoder), cast(PreTrainedModel, network.decoder)
