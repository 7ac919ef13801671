"""Models with weights that are yet to be trained: a new classifier, or random weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedModel

from headscope.errors import ModelError
from headscope.model import bundled
from headscope.model.batch import pad_id
from headscope.model.loading import (
    AUTO_CLASSES,
    LOADING_ERRORS,
    explain_loading_error,
    quiet_transformers,
    short_name,
    wrap,
)
from headscope.model.model import Model
from headscope.model.top import Top

DRAWING_ERRORS = (TypeError, ValueError, AttributeError, KeyError, RuntimeError)
"""What the classes of transformers raise where a configuration is not enough."""


def load_untrained_classifier(
    name: str | Path, labels: Sequence[str], *, random: bool = False, seed: int = 0
) -> Model:
    """Load a model and put an untrained classifier on top of it.

    Args:
        labels: the classes; if there are none, the classifier predicts a single number.
        random: initialise all weights at random instead of loading them.
        seed: of the random weights.

    >>> load_untrained_classifier("minilm", ["no", "yes"]).whole.config.num_labels
    2
    """
    source = bundled.folder() if str(name) == bundled.NAME else name
    auto_class = AUTO_CLASSES[Top.CLASSIFIER]
    with torch.random.fork_rng(), quiet_transformers():
        torch.manual_seed(seed)
        try:
            tokenizer = AutoTokenizer.from_pretrained(source)
            config = AutoConfig.from_pretrained(source, **_classifier_options(labels))
            if config.pad_token_id is None:  # a decoder's classifier looks for the last real token
                config.pad_token_id = pad_id(tokenizer)
            if random:
                network = auto_class.from_config(config, dtype=torch.float32)
            else:
                network = auto_class.from_pretrained(
                    source, config=config, dtype=torch.float32, use_safetensors=True
                )
        except LOADING_ERRORS as error:
            raise ModelError(explain_loading_error(name, error)) from error
    return wrap(network, tokenizer, short_name(name), "random" if random else "trained")


def _classifier_options(labels: Sequence[str]) -> dict[str, Any]:
    if not labels:
        return {"num_labels": 1, "problem_type": "regression"}
    return {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {label: number for number, label in enumerate(labels)},
    }


def reinitialise(model: Model, seed: int = 0, *, embeddings: bool = False) -> Model:
    """The same architecture with random weights: what heads do before they have learned anything.

    It is watched in the way that was found and verified for the trained model.

    Args:
        seed: of the random weights.
        embeddings: keep the trained weights outside the layers, above all the embeddings.

    >>> from headscope.model import load
    >>> reinitialise(load("minilm"))
    minilm (random weights): bert, 6 layers x 12 heads, at most 512 tokens
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        make = cast(Callable[[PretrainedConfig], PreTrainedModel], type(model.network))
        try:
            network = make(copy.deepcopy(model.network.config))
        except DRAWING_ERRORS as error:
            raise ModelError(
                f"{model.name} cannot be drawn anew with random weights: {error} (in a scan, "
                "--untrained 0 leaves this out)"
            ) from error
    nn.Module.to(network, device=model.network.device, dtype=model.network.dtype)
    if embeddings:
        blocks = model.adapter.blocks(network)
        in_layers = {id(parameter) for block in blocks for parameter in block.parameters()}
        trained = dict(model.network.named_parameters())
        outside = {
            name: trained[name]
            for name, parameter in network.named_parameters()
            if id(parameter) not in in_layers
        }
        network.load_state_dict(outside, strict=False)
    return replace(model, network=network.eval(), weights="random", source=None, with_top=None)
