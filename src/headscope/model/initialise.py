"""Models that have something to learn yet: a new classifier on top, or random weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedModel

from headscope.errors import ModelError
from headscope.model import bundled
from headscope.model.detect import pad_id
from headscope.model.loading import (
    CLASSES,
    LOADING,
    Head,
    Model,
    explain,
    hushed,
    short_name,
    wrap,
)


def initialise(
    name: str | Path, labels: Sequence[str], *, random: bool = False, seed: int = 0
) -> Model:
    """A model with a classifier on top that is yet to be trained.

    Args:
        labels: the classes; none: a single score.
        random: draw all weights anew instead of loading them.

    >>> initialise("minilm", ["no", "yes"]).whole.config.num_labels
    2
    """
    place = bundled.folder() if str(name) == bundled.NAME else name
    options: dict[str, Any] = {"num_labels": len(labels) or 1}
    if labels:
        options |= {"id2label": dict(enumerate(labels))}
        options |= {"label2id": {label: place for place, label in enumerate(labels)}}
    else:
        options |= {"problem_type": "regression"}
    kind = CLASSES[Head.CLASSIFIER]
    with torch.random.fork_rng(), hushed():
        torch.manual_seed(seed)
        try:
            tokenizer = AutoTokenizer.from_pretrained(place)
            config = AutoConfig.from_pretrained(place, **options)
            if config.pad_token_id is None:  # a decoder's classifier looks for the last real token
                config.pad_token_id = pad_id(tokenizer)
            if random:
                network = kind.from_config(config, dtype=torch.float32)
            else:
                network = kind.from_pretrained(
                    place, config=config, dtype=torch.float32, use_safetensors=True
                )
        except LOADING as error:
            raise ModelError(explain(name, error)) from error
    return wrap(network, tokenizer, short_name(name), "random" if random else "trained")


def untrained(model: Model, seed: int = 0, *, embeddings: bool = False) -> Model:
    """The same architecture with random weights: what a head does before it has learned anything.

    Args:
        embeddings: keep whatever is not a layer: the embeddings, above all.

    >>> from headscope.model import load
    >>> untrained(load("minilm"))
    minilm (random weights): bert, 6 layers x 12 heads, at most 512 tokens
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        make = cast(Callable[[PretrainedConfig], PreTrainedModel], type(model.network))
        network = make(copy.deepcopy(model.network.config))
    nn.Module.to(network, device=model.network.device, dtype=model.network.dtype)
    if embeddings:
        blocks = model.adapter.blocks(network)
        inner = {id(one) for block in blocks for one in (*block.parameters(), *block.buffers())}
        outer = [name for name, one in network.named_parameters() if id(one) not in inner]
        known = dict(model.network.named_parameters())
        network.load_state_dict({name: known[name] for name in outer}, strict=False)
    return wrap(network, model.tokenizer, model.name, "random")
