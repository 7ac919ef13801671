"""Naming heads: `L7.H10` is one head, `L7` all heads of a layer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from headscope.errors import HeadscopeError

Named: TypeAlias = "str | Iterable[str | tuple[int, int]]"
"""One name, several with commas between them, or a list of names and of (layer, head)."""
_NAME = re.compile(r"L(\d+)(?:\.H(\d+))?", re.IGNORECASE)


def head_name(layer: int | None, head: int | None = None) -> str:
    """How a head is written everywhere.

    >>> head_name(7, 10), head_name(7)
    ('L7.H10', 'L7')
    """
    if layer is None:
        return "model"
    return f"L{layer}" if head is None else f"L{layer}.H{head}"


def named_heads(names: Named, layers: int, heads: int) -> dict[int, list[int]]:
    """The heads by layer; an error for heads that a model of this shape does not have.

    >>> named_heads("L0.H1,L1", layers=2, heads=3)
    {0: [1], 1: [0, 1, 2]}
    """
    found: dict[int, set[int]] = {}
    for layer, head in _split(names):
        shape = f"{layers} layers of {heads} heads, counted from 0"
        if not 0 <= layer < layers or (head is not None and not 0 <= head < heads):
            raise HeadscopeError(f"there is no {head_name(layer, head)}: the model has {shape}")
        found.setdefault(layer, set()).update(range(heads) if head is None else [head])
    return {layer: sorted(chosen) for layer, chosen in sorted(found.items())}


def _split(names: Named) -> Iterator[tuple[int, int | None]]:
    for name in names.split(",") if isinstance(names, str) else names:
        if not isinstance(name, str):
            yield name
        elif "," in name:
            yield from _split(name)
        elif match := _NAME.fullmatch(name.strip()):
            yield int(match[1]), None if match[2] is None else int(match[2])
        else:
            raise HeadscopeError(f"{name.strip()!r} is not a head (L3.H4) or a layer (L3)")
