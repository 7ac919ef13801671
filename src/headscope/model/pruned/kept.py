"""Which heads of a pruned model remain, as its configuration states it."""

from __future__ import annotations

from transformers import PretrainedConfig, PreTrainedModel

from headscope.errors import ModelError

CONFIG_KEY = "headscope_kept"
"""The entry of a configuration that lists the remaining heads of each layer."""
HEADS_KEY = "headscope_heads"
"""The entry that lists how many heads each layer had before pruning."""
SHAPES_KEY = "headscope_shapes"
"""The entry with the shapes of the modules (see `headscope.model.pruned.shapes`)."""
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
