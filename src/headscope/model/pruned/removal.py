"""Removing heads from a model."""

from __future__ import annotations

from torch import Tensor

from headscope._util.naming import HeadNames, parse_heads
from headscope.model.model import Model
from headscope.model.modes import evaluating
from headscope.model.pruned.kept import check_intact
from headscope.model.pruned.shrinking import shrink


def remove(model: Model, heads: HeadNames, means: Tensor | None = None) -> Model:
    """A smaller copy of a model, without some heads.

    Its outputs equal those of the model with these heads at zero, or at their mean.

    Args:
        heads: `"L3.H4"`, `"L3"` for a layer, several separated by commas or in a list, or
            (layer, head) pairs; `"cross L3.H4"` in a model with an encoder and a decoder.
        means: (layer, head, size) mean output of each head (see `mean_outputs`). It is folded into
            the bias of the output projection, so that the mean replaces the head instead of zero.

    >>> from headscope.model import load
    >>> remove(load("minilm"), "L3.H4,L5")
    minilm: bert, 6 layers, 59 of 72 heads, at most 512 tokens
    """
    removed = parse_heads(heads, model.head_counts, model.attentions)
    check_intact(model.network)
    remaining = tuple(
        tuple(head for head in range(heads) if head not in removed.get(layer, ()))
        for layer, heads in enumerate(model.head_counts)
    )
    with evaluating(model.whole):
        return shrink(model, remaining, means) if removed else model.copy()
