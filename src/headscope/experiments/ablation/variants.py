"""What is switched off in turn: a head, a layer, or a set of heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headscope._util.naming import parse_heads
from headscope.evidence.tally import ALL
from headscope.model import Model


@dataclass(frozen=True)
class Variant:
    """Heads that are off together: one head, a layer, or a chosen set."""

    unit: str
    name: str
    heads: dict[int, list[int]]

    @property
    def layer(self) -> int | None:
        """Its layer, where it has one."""
        return next(iter(self.heads)) if len(self.heads) == 1 else None

    def place(self, model: Model) -> tuple[str, int | None]:
        """The kind of attention and the layer that it is in, as tables write them."""
        return (ALL, None) if self.layer is None else model.named(self.layer)

    @property
    def head(self) -> int | None:
        """Its head, where it is one head."""
        return next(iter(self.heads.values()))[0] if self.unit == "head" else None


def every_head(model: Model) -> list[Variant]:
    """All heads one by one."""
    return [
        Variant("head", model.head_name(layer, head), {layer: [head]})
        for layer, heads in enumerate(model.head_counts)
        for head in range(heads)
    ]


def every_head_and_layer(model: Model) -> list[Variant]:
    """All heads one by one, then all layers."""
    layers = [
        Variant("layer", model.head_name(layer), {layer: list(range(heads))})
        for layer, heads in enumerate(model.head_counts)
        if heads
    ]
    return every_head(model) + layers


def chosen_sets(model: Model, names: Sequence[str]) -> list[Variant]:
    """Sets of heads, each off together: `L3.H4,L5`."""
    counts, attentions = model.head_counts, model.attentions
    return [Variant("set", name, parse_heads(name, counts, attentions)) for name in names]
