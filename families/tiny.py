"""Tiny random networks of any family, made from its own configuration."""

from __future__ import annotations

import math
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoModel, AutoModelForSeq2SeqLM, PretrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from families.listing import CLASSES, base_class
from families.settings import GAIN, LAYERS, SETTINGS, SIZES, TOKENS, VOCABULARIES
from headscope.testing import VOCABULARY


def tiny_config(family: str) -> PretrainedConfig:
    """The configuration of a family, made small: every kind of layer that it has occurs."""
    kind, special = CONFIG_MAPPING[family], SETTINGS.get(family, {})
    default = kind(**special) if family == "encoder-decoder" else kind()
    count, lists = _layers(default)
    made: dict[str, Any] = {}
    for key, value in default.to_dict().items():
        if (size := _size(key, value)) is not None:
            made[key] = count if key in LAYERS and count else size
    made |= lists | special
    known = {name for one in kind.__mro__ for name in getattr(one, "__annotations__", {})}
    known |= set(kind.attribute_map) | set(special) | set(TOKENS)
    config: PretrainedConfig = kind(**{key: made[key] for key in made if key in known})
    return config


def _size(key: str, value: Any) -> float | None:
    """What an entry of a configuration becomes; None: as it is."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if key in TOKENS:
        return TOKENS[key]
    if "drop" in key and isinstance(value, float):
        return 0.0
    if not number:
        return None
    if key in VOCABULARIES:
        return len(VOCABULARY)
    if key in SIZES and value > 0:
        smaller: float = min(SIZES[key], value)
        return smaller
    return 5 if key.endswith("_token_id") else None


def _layers(default: PretrainedConfig) -> tuple[int | None, dict[str, list[Any]]]:
    """How many layers, and lists with an entry for each layer."""
    counts = (getattr(default, key, None) for key in LAYERS)
    total = next((count for count in counts if isinstance(count, int)), 0)
    lists = {
        key: value
        for key, value in default.to_dict().items()
        if isinstance(value, list | tuple) and total and len(value) == total
    }
    places: dict[tuple[str, ...], list[int]] = {}
    for place in range(total if lists else 0):
        key = tuple(str(value[place]) for value in lists.values())
        places.setdefault(key, []).append(place)
    kept = sorted(some[0] for some in places.values())[:6]
    if lists and len(kept) < 2:
        kept = [0, 1]
    elif 2 <= len(kept) < 4:
        kept = sorted(place for some in places.values() for place in some[:2])[:4]
    return len(kept) or None, {key: [value[n] for n in kept] for key, value in lists.items()}


def family_network(family: str, attention: str | None = None, seed: int = 1) -> PreTrainedModel:
    """A tiny random network of a family; one with an encoder and a decoder has what makes it speak.

    Args:
        attention: the attention implementation; None: the default of transformers.
    """
    torch.manual_seed(seed)
    options = {"attn_implementation": attention} if attention else {}
    config = tiny_config(family)
    if type(config) in AutoModelForSeq2SeqLM._model_mapping and config.is_encoder_decoder:
        network = AutoModelForSeq2SeqLM.from_config(config, **options)
    elif base_class(family) is None:
        name = next(names[family] for names in CLASSES.values() if family in names)
        kind = getattr(transformers, name if isinstance(name, str) else name[0])
        network = kind._from_config(config, **options)
    else:
        network = AutoModel.from_config(config, **options)
    _randomise(network, seed, GAIN.get(family, 1.0))
    made: PreTrainedModel = network.eval()
    return made


@torch.no_grad()
def _randomise(network: nn.Module, seed: int, gain: float) -> None:
    """Weights large enough for heads to differ, and for every bias, cap and sink to show."""
    generator = torch.Generator().manual_seed(seed)
    for module in network.modules():
        for name, weight in module.named_parameters(recurse=False):
            if weight.is_floating_point() and (scale := _scale(module, name, weight, gain)):
                weight.copy_(torch.randn(weight.shape, generator=generator) * scale)


def _scale(module: nn.Module, name: str, weight: Tensor, gain: float) -> float:
    """The standard deviation of a weight; 0: it stays."""
    kind = type(module).__name__
    linear = "Linear" in kind or kind == "Conv1D"
    constant = weight.dim() >= 2 and float(weight.abs().max()) in (0.0, 1.0)
    if weight.dim() == 2 and linear:
        return gain * 1.5 / math.sqrt(weight.shape[0 if kind == "Conv1D" else 1])
    if weight.dim() == 2 and "Embed" in kind:
        return gain
    if "sink" in name:
        return 1.0
    if name == "bias" and linear:
        return 0.2
    return 0.3 if constant else 0.0
