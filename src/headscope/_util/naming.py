"""Names of heads: `L7.H10` is a head, `L7` stands for all heads of a layer.

In a model with an encoder and a decoder they are preceded by the kind of attention: `encoder
L2.H3`, `cross L5`, or `enc.L2.H3` where a word without spaces is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from headscope.errors import HeadscopeError

HeadNames: TypeAlias = "str | Iterable[str | tuple[int, int]]"
"""A name, names separated by commas, or a list of names and (layer, head) pairs."""
SELF = "self"
"""The attention of a model of one stack, as tables write it."""
_NAME = re.compile(r"(?:([a-z]+)[ .])?L(\d+)(?:\.H(\d+))?", re.IGNORECASE)


def head_name(layer: int | None, head: int | None = None, attention: str = SELF) -> str:
    """Name of a head; without `head` the name of its layer, without `layer` "model".

    >>> head_name(7, 10), head_name(7), head_name(None), head_name(2, 3, "cross")
    ('L7.H10', 'L7', 'model', 'cross L2.H3')
    """
    if layer is None:
        return "model"
    name = f"L{layer}" if head is None else f"L{layer}.H{head}"
    return name if attention == SELF else f"{attention} {name}"


def stack_layers(attentions: Sequence[str]) -> list[int]:
    """The layer in its stack of every attention, from their kinds in order.

    >>> stack_layers(["encoder", "encoder", "cross"])
    [0, 1, 0]
    """
    return [attentions[:number].count(kind) for number, kind in enumerate(attentions)]


def parse_heads(
    names: HeadNames, counts: Sequence[int], attentions: Sequence[str] = ()
) -> dict[int, list[int]]:
    """Heads by layer, sorted; raises an error for a head that the model does not have.

    Args:
        names: see `HeadNames`.
        counts: the number of heads in each layer; 0 for a layer that does not attend.
        attentions: in a model with an encoder and a decoder, the kind of each attention; layers
            are then attentions, numbered in this order.

    >>> parse_heads("L0.H1,L1", [3, 3])
    {0: [1], 1: [0, 1, 2]}
    >>> parse_heads("cross L0.H1, enc.L0", [2, 2, 2], ["encoder", "decoder", "cross"])
    {0: [0, 1], 2: [1]}
    """
    by_layer: dict[int, set[int]] = {}
    for kind, layer, head in _split(names):
        named = kind is not None and bool(kind or attentions)
        number = _number(kind or "", layer, head, attentions) if named else layer
        heads = counts[number] if 0 <= number < len(counts) else 0
        if not heads or (head is not None and not 0 <= head < heads):
            name = head_name(layer, head, kind or SELF)
            raise HeadscopeError(f"there is no {name}: {_shape(counts, attentions)}")
        by_layer.setdefault(number, set()).update(range(heads) if head is None else [head])
    return {layer: sorted(members) for layer, members in sorted(by_layer.items())}


def _number(kind: str, layer: int, head: int | None, attentions: Sequence[str]) -> int:
    """The number of an attention from the beginning of its kind and its layer; -1 for none."""
    name = head_name(layer, head)
    known = [each for each in dict.fromkeys(attentions) if kind and each.startswith(kind.lower())]
    if not attentions and kind:
        raise HeadscopeError(f"this model has one stack: write {name}, not {kind} {name}")
    if len(known) != 1:
        kinds = " or ".join(f"{each} {name}" for each in dict.fromkeys(attentions))
        given = f"{kind} {name}".strip()
        raise HeadscopeError(f"{given!r} does not say which attention it is of; write {kinds}")
    numbers = [number for number, each in enumerate(attentions) if each == known[0]]
    return numbers[layer] if layer < len(numbers) else -1


def _shape(counts: Sequence[int], attentions: Sequence[str]) -> str:
    """Which heads there are, in words."""
    if attentions:
        kinds = (f"{attentions.count(kind)} {kind}" for kind in dict.fromkeys(attentions))
        return f"the model has {', '.join(kinds)} layers of up to {max(counts)} heads, from 0"
    if len(set(counts)) == 1:
        return f"the model has {len(counts)} layers of {counts[0]} heads, counted from 0"
    attending = ", ".join(f"L{layer} ({heads})" for layer, heads in enumerate(counts) if heads)
    return f"the layers that attend, with their numbers of heads, are {attending}"


def _split(names: HeadNames) -> Iterator[tuple[str | None, int, int | None]]:
    """Kind of attention ("": it was not named; None: a number stands for it), layer and head."""
    for name in names.split(",") if isinstance(names, str) else names:
        if not isinstance(name, str):
            yield None, *name
        elif "," in name:
            yield from _split(name)
        elif match := _NAME.fullmatch(name.strip()):
            yield match[1] or "", int(match[2]), None if match[3] is None else int(match[3])
        else:
            raise HeadscopeError(f"{name.strip()!r} is not a head (L3.H4) or a layer (L3)")
