"""How the outputs of the projections of a layer are laid out by heads, found by trying.

Rows that belong to a head can be set to zero without any effect once the head is switched off.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.model.disabling import disable
from headscope.model.model import Model
from headscope.model.pruned.linear import outputs_of, parts_of
from headscope.model.pruned.projections import LayerProjections, sample_output

NEAR = 1e-4
"""How far two outputs may differ, relative to the largest."""


class Rows(StrEnum):
    """How the outputs of a projection are laid out; the finest that is right is taken."""

    BY_HEAD = "by head"  # a part for each head
    BLOCKS = "blocks"  # all queries, all keys, all values
    BY_GROUP = "by group"  # the queries of a group, its key, its value
    BY_KEY = "by key"  # a part for each group of heads that share keys and values


@dataclass
class Selection:
    """Which heads of a layer stay.

    Attributes:
        heads: the heads that stay; groups: their keys and values, each once.
        expand: for each head its place among the groups, where groups have lost different numbers
            of heads; None: each group serves as many heads as any other.
    """

    layer: LayerProjections
    heads: Sequence[int]
    groups: list[int] = field(init=False)
    expand: list[int] | None = field(init=False)

    def __post_init__(self) -> None:
        of_head = [head // self.layer.repeats for head in self.heads]
        self.groups = sorted(set(of_head))
        uneven = len({of_head.count(group) for group in self.groups}) > 1
        self.expand = [self.groups.index(group) for group in of_head] if uneven else None

    @property
    def repeats(self) -> int:
        """Heads that share a key and a value."""
        return 1 if self.expand else len(self.heads) // len(self.groups)

    def rows(self, outputs: int, layout: Rows) -> tuple[Tensor, Tensor | None]:
        """The rows of a projection with so many outputs that stay, and how they are expanded."""
        layer = self.layer
        if layout is Rows.BY_HEAD:
            return parts_of(layer.heads, outputs // layer.heads, self.heads), None
        if layout is Rows.BY_KEY:
            return self._shared(outputs // layer.groups)
        if layout is Rows.BY_GROUP:
            return self._by_group(), None
        queries = parts_of(layer.heads, layer.size, self.heads)
        keys, expand = self._shared(layer.size)
        offsets = (layer.heads * layer.size, (layer.heads + layer.groups) * layer.size)
        rows = torch.cat([queries, *(offset + keys for offset in offsets)])
        if expand is None:
            return rows, None
        starts = (len(queries), len(queries) + len(keys))
        return rows, torch.cat([torch.arange(len(queries)), *(start + expand for start in starts)])

    def _shared(self, size: int) -> tuple[Tensor, Tensor | None]:
        expand = None if self.expand is None else parts_of(len(self.groups), size, self.expand)
        return parts_of(self.layer.groups, size, self.groups), expand

    def _by_group(self) -> Tensor:
        layer, repeats, members = self.layer, self.layer.repeats, []
        for group in self.groups:
            start = group * (repeats + 2)
            members += [start + head % repeats for head in self.heads if head // repeats == group]
            members += [start + repeats, start + repeats + 1]
        return parts_of(layer.groups * (repeats + 2), layer.size, members)


class Layouts:
    """Finds out how the projections of a model are laid out."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._known: dict[tuple[Any, ...], Rows | None] = {}
        self._expected: dict[tuple[tuple[int, int], ...], Tensor] = {}

    def of(self, number: int, layer: LayerProjections, name: str) -> Rows | None:
        """The layout of a projection of a layer; None if it is not split into heads."""
        module = self.model.network.get_submodule(name)
        outputs = outputs_of(module)
        key = (name.rsplit(".", maxsplit=1)[-1], outputs, layer.heads, layer.groups)
        if key not in self._known:
            possible = (each for each in Rows if self._fits(layer, outputs, each))
            right = (each for each in possible if self._is(number, layer, module, each))
            self._known[key] = next(right, None)
        return self._known[key]

    @staticmethod
    def _fits(layer: LayerProjections, outputs: int, layout: Rows) -> bool:
        fused = outputs == (layer.heads + 2 * layer.groups) * layer.size
        shared = layer.groups < layer.heads
        return {
            Rows.BLOCKS: fused,
            Rows.BY_GROUP: fused,
            Rows.BY_KEY: shared and outputs % layer.groups == 0,
            Rows.BY_HEAD: outputs % layer.heads == 0,
        }[layout]

    def _is(self, number: int, layer: LayerProjections, module: nn.Module, layout: Rows) -> bool:
        """Whether what would be the rows of some heads has no effect while they are off."""
        first = 1 if layout is Rows.BY_HEAD else layer.repeats
        for gone in (range(first), range(layer.heads - first, layer.heads)):
            kept = [head for head in range(layer.heads) if head not in gone]
            rows, _ = Selection(layer, kept).rows(outputs_of(module), layout)
            others = torch.ones(outputs_of(module), dtype=torch.bool)
            others[rows] = False
            heads = [(number, head) for head in gone]
            if not self._same(heads, module, others):
                return False
        return True

    @torch.no_grad()
    def _same(self, heads: list[tuple[int, int]], module: nn.Module, rows: Tensor) -> bool:
        """Whether some rows of a projection can be zero while heads are off."""
        expected = self._expected.setdefault(tuple(heads), self._output(heads))
        with ExitStack() as undo:
            for leaf in ("weight", "bias"):
                tensor = getattr(module, leaf, None)
                if tensor is not None:
                    undo.callback(tensor.copy_, tensor.clone())
                    by_output = (
                        tensor.mT if isinstance(module, Conv1D) and leaf == "weight" else tensor
                    )
                    by_output[rows.to(tensor.device)] = 0
            found = self._output(heads)
        return bool((found - expected).abs().max() <= NEAR * expected.abs().max())

    def _output(self, heads: list[tuple[int, int]]) -> Tensor:
        with disable(self.model, heads, "zero"):
            return sample_output(self.model)
