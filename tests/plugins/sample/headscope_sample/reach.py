"""Reach: how far away from itself a token looks, in tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.plugin import (
    SELF,
    Analysis,
    Block,
    Int32,
    Mean,
    Request,
    RoleRule,
    Statistic,
    Table,
    Unit,
    View,
    analysis,
    option,
)

TOKENS = Unit("tokens", "tokens away", format=".1f", chart_format=".1f", axis_format="~g")


@dataclass(frozen=True)
class ReachOptions:
    """How far is far."""

    cap: int = option(0, "Distances beyond this count as this; 0: no cap.")


@dataclass(frozen=True)
class LayerReach:
    """A row of reach.parquet: the mean of a layer, and its head that looks farthest."""

    corpus: str
    weights: str
    layer: Int32
    mean: float
    farthest: Int32


REACH = Table("reach", LayerReach)


@dataclass(eq=False)
class MeanDistance(Request):
    """(example, head, group) the expected distance of what each row looks at, summed."""

    over: Tensor
    cap: int = 0

    def begin(self, view: View, heads: int) -> Tensor:
        examples, _, groups = self.over.shape
        return torch.zeros(examples, heads, groups)

    def add(self, state: Tensor, block: Block) -> None:
        rows = torch.arange(block.start, block.stop)
        keys = torch.arange(block.weights.shape[-1])
        distance = (keys - rows[:, None]).abs().float()
        if self.cap:
            distance = distance.clamp_max(self.cap)
        block.put(state, (block.weights * distance).sum(-1), self.over)


@analysis("reach")
class Reach(Analysis):
    """How far away a head looks, in tokens: 0 looks at itself, 1 at its neighbours.

    The distance of each token of the text from what it looks at, by its weights. The baseline
    attends to all visible tokens alike.
    """

    kinds = SELF
    options_type = ReachOptions
    tables = (REACH,)
    roles = (
        RoleRule(
            "far-sighted",
            "looks {value} tokens away on average",
            "reach",
            2.0,
            "the sample plug-in",
            unit=TOKENS,
        ),
    )

    def make_tallies(self) -> None:
        self.reach = Mean(self.layout)

    def ask(self, view: View) -> dict[str, Request]:
        over = view.queries.texts[..., None].float()
        return {"reach": MeanDistance(over, self.options.cap)}

    def statistics(self) -> Iterator[Statistic]:
        about = "mean distance of what a token looks at"
        yield Statistic.of("reach", self.reach, TOKENS, about, headlines={"": "reach"})

    def table_rows(self, corpus: str, weights: str) -> Iterator[LayerReach]:
        for layer, heads in enumerate(self.reach.tally.ratio()[:, :, 0]):
            yield LayerReach(corpus, weights, layer, float(heads.mean()), int(heads.argmax()))
