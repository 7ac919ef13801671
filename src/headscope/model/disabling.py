"""Switching heads off (Kovaleva et al. 2019, section 4.6; Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import torch
from torch import Tensor

from headscope._util.naming import Named, named_heads
from headscope.errors import HeadscopeError
from headscope.model.hooks.head_outputs import HeadOutputs, changing
from headscope.model.hooks.tap import lock_of
from headscope.model.loading import Model


class How(StrEnum):
    """What a head gives that is off."""

    UNIFORM = "uniform"  # it attends alike to all that it may see (Kovaleva)
    ZERO = "zero"  # nothing (Michel)
    MEAN = "mean"  # its mean output over the data


@contextmanager
def disable(
    model: Model, heads: Named, how: str = "uniform", means: Tensor | None = None
) -> Iterator[Model]:
    """Switch heads off for the time of a `with`.

    Args:
        heads: `"L3.H4"`, `"L3"` for a layer, several with commas or in a list, (layer, head).
        how: `uniform`, `zero`, or `mean`, which needs `means`.
        means: (layer, head, size) what a head gives on average (see `mean_outputs`).

    >>> from headscope import load
    >>> model = load("minilm")
    >>> with disable(model, "L3.H4,L5"):
    ...     pass
    """
    chosen = named_heads(heads, model.layers, model.heads)
    way = how_named(how)
    if way is How.MEAN and means is None:
        raise HeadscopeError("'mean' needs the heads' mean outputs (see mean_outputs)")
    device = model.network.device
    places = {layer: torch.tensor(some, device=device) for layer, some in chosen.items()}

    def change(outputs: HeadOutputs) -> Tensor:
        if outputs.layer not in places:
            return outputs.context
        off = places[outputs.layer]
        context = outputs.context.clone()
        context[:, :, off] = replaced(outputs, off, way, means).to(context.dtype)
        return context

    with lock_of(model.network), changing(model.network, model.adapter, model.heads, change):
        yield model


def replaced(outputs: HeadOutputs, heads: Tensor, how: How, means: Tensor | None) -> Tensor:
    """(example or 1, query or 1, head, size) what heads give that are off."""
    if how is How.UNIFORM:
        return outputs.uniform(heads)
    if how is How.MEAN and means is not None:
        return means[outputs.layer, heads][None, None].to(outputs.context)
    return torch.zeros_like(outputs.context[:1, :1, heads])


def how_named(how: str) -> How:
    """A way of switching heads off by its name."""
    if how not in list(How):
        raise HeadscopeError(f"heads are switched off by {', '.join(How)}, not {how!r}")
    return How(how)
