"""Switching heads off (Kovaleva et al. 2019, section 4.6; Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from headscope._util.naming import HeadNames, parse_heads
from headscope.errors import HeadscopeError
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.hooks.tap import lock_of
from headscope.model.model import Model
from headscope.model.replacement import Replacement, parse_replacement


@contextmanager
def disable(
    model: Model, heads: HeadNames, how: str = "uniform", means: Tensor | None = None
) -> Iterator[Model]:
    """Switch heads off for the duration of a `with`.

    Args:
        heads: `"L3.H4"`, `"L3"` for a layer, several separated by commas or in a list, or
            (layer, head) pairs; `"cross L3.H4"` in a model with an encoder and a decoder.
        how: what replaces the output of a head: `uniform`, `zero`, or `mean`, which needs `means`.
        means: (layer, head, size) mean output of each head (see `mean_outputs`).

    >>> from headscope import load
    >>> model = load("minilm")
    >>> with disable(model, "L3.H4,L5"):
    ...     pass
    """
    by_layer = parse_heads(heads, model.head_counts, model.attentions)
    replacement = parse_replacement(how)
    if replacement is Replacement.MEAN and means is None:
        raise HeadscopeError("'mean' needs the heads' mean outputs (see mean_outputs)")
    device = model.network.device
    disabled = {layer: torch.tensor(numbers, device=device) for layer, numbers in by_layer.items()}

    def replace_disabled(outputs: HeadOutputs) -> Tensor:
        if outputs.layer not in disabled:
            return outputs.context
        off = disabled[outputs.layer]
        context = outputs.context.clone()
        substitute = replacement_outputs(outputs, off, replacement, means)
        context[:, :, off] = substitute.to(context.dtype)
        return context

    interception = intercept_head_outputs(model.network, model.adapter, replace_disabled)
    with lock_of(model.network), interception:
        yield model


def replacement_outputs(
    outputs: HeadOutputs, heads: Tensor, replacement: Replacement, means: Tensor | None
) -> Tensor:
    """(example or 1, query or 1, head, size) what replaces the outputs of heads.

    Args:
        heads: (head,) the numbers of the heads that are switched off.
        means: (layer, head, size) mean output of each head, for `Replacement.MEAN`.
    """
    if replacement is Replacement.UNIFORM:
        return outputs.uniform(heads)
    if replacement is Replacement.MEAN and means is not None:
        return means[outputs.layer, heads][None, None].to(outputs.context)
    return torch.zeros_like(outputs.context[:1, :1, heads])
