"""Names of heads: `L7.H10` is a head, `L7` stands for all heads of a layer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from headscope.errors import HeadscopeError

HeadNames: TypeAlias = "str | Iterable[str | tuple[int, int]]"
"""A name, names separated by commas, or a list of names and (layer, head) pairs."""
_NAME = re.compile(r"L(\d+)(?:\.H(\d+))?", re.IGNORECASE)


def head_name(layer: int | None, head: int | None = None) -> str:
    """Name of a head; without `head` the name of its layer, without `layer` "model".

    >>> head_name(7, 10), head_name(7), head_name(None)
    ('L7.H10', 'L7', 'model')
    """
    if layer is None:
        return "model"
    return f"L{layer}" if head is None else f"L{layer}.H{head}"


def parse_heads(names: HeadNames, counts: Sequence[int]) -> dict[int, list[int]]:
    """Heads by layer, sorted; raises an error for a head that the model does not have.

    Args:
        names: see `HeadNames`.
        counts: the number of heads in each layer; 0 for a layer that does not attend.

    >>> parse_heads("L0.H1,L1", [3, 3])
    {0: [1], 1: [0, 1, 2]}
    """
    by_layer: dict[int, set[int]] = {}
    for layer, head in _split(names):
        heads = counts[layer] if 0 <= layer < len(counts) else 0
        if not heads or (head is not None and not 0 <= head < heads):
            raise HeadscopeError(f"there is no {head_name(layer, head)}: {_shape(counts)}")
        by_layer.setdefault(layer, set()).update(range(heads) if head is None else [head])
    return {layer: sorted(members) for layer, members in sorted(by_layer.items())}


def _shape(counts: Sequence[int]) -> str:
    """Which heads there are, in words."""
    if len(set(counts)) == 1:
        return f"the model has {len(counts)} layers of {counts[0]} heads, counted from 0"
    attending = ", ".join(f"L{layer} ({heads})" for layer, heads in enumerate(counts) if heads)
    return f"the layers that attend, with their numbers of heads, are {attending}"


def _split(names: HeadNames) -> Iterator[tuple[int, int | None]]:
    for name in names.split(",") if isinstance(names, str) else names:
        if not isinstance(name, str):
            yield name
        elif "," in name:
            yield from _split(name)
        elif match := _NAME.fullmatch(name.strip()):
            yield int(match[1]), None if match[2] is None else int(match[2])
        else:
            raise HeadscopeError(f"{name.strip()!r} is not a head (L3.H4) or a layer (L3)")
