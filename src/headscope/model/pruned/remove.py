"""A model that has lost heads: made from an intact one."""

from __future__ import annotations

from torch import Tensor

from headscope._util.naming import Named, named_heads
from headscope.model.loading import Model
from headscope.model.pruned.shrink import check_intact, shrink


def remove(model: Model, heads: Named, means: Tensor | None = None) -> Model:
    """A model without some heads: smaller matrices, the same outputs as with these heads at zero.

    Args:
        heads: `"L3.H4"`, `"L3"` for a layer, several with commas or in a list, (layer, head).
        means: (layer, head, size) what a head gives on average (see `mean_outputs`): it is added
            to the output's bias, so that the head is replaced by its mean and not by nothing.

    >>> from headscope.model.loading import load
    >>> remove(load("minilm"), "L3.H4,L5")
    minilm: bert, 6 layers, 59 of 72 heads, at most 512 tokens
    """
    gone = named_heads(heads, model.layers, model.heads)
    check_intact(model.network)
    kept = tuple(
        tuple(head for head in range(model.heads) if head not in gone.get(layer, ()))
        for layer in range(model.layers)
    )
    made = model.copied()
    shrink(made.network, model.adapter, model.heads, kept, means)
    return made
