"""Which attention the loss feels: gradients by gates on heads, and by attention itself.

Michel et al. 2019: a gate of 1 on each head's output; how much the loss of an example changes
with it. Clark et al. 2019, figure 3: how much the loss changes with each weight of attention.
Both come from one backward pass a batch: losses of different examples have nothing in common, so
the gradient of their sum has every example's own in its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from headscope.corpus import Budget, bucket_of
from headscope.evidence import Layout, Statistic, Tally, Unit
from headscope.model import Gates, Model, gate_heads
from headscope.model.attention import Mass, View, answer
from headscope.tasks import CaseBatch, Task

GROUPS = ("all", "first", "separator", "punctuation", "other")
BATCH = Budget(2048, 2048 * 128)
"""Replacement large a batch may be: what gradients need is kept for all of it."""


@dataclass(frozen=True)
class Felt:
    """What the loss of some cases feels.

    Attributes:
        losses: (case,)
        gates: (case, layer, head) the derivative by a gate on the head's output.
        magnitude: (case, layer, head, group) the summed size of the derivative by weights of
            attention to tokens of a role; None where it was not asked for.
        even: the same, had every visible token of a row the same.
    """

    losses: Tensor
    gates: Tensor
    magnitude: Tensor | None = None
    even: Tensor | None = None


def felt(model: Model, task: Task, batch: CaseBatch, *, attention: bool = True) -> Felt:
    """One forward and one backward pass over a batch of cases."""
    cases = len(batch.cases)
    network = model.whole
    training = network.training
    network.train(False)
    try:
        with gate_heads(model, batch.batch, attention=attention) as gates:
            with torch.enable_grad():
                losses = task.losses(model, batch, batch.inputs(model))
                wanted = [gates.values, *(gates.attention.weights if gates.attention else ())]
                found = torch.autograd.grad(losses.sum(), wanted)
            by_gate = found[0].view(model.layers, cases, -1, model.heads).sum(2)
            parts = _magnitudes(gates, found[1:])
    finally:
        network.train(training)
    by_case = [
        torch.stack(part, 1).view(cases, -1, model.layers, model.heads, len(GROUPS)).sum(1)
        for part in zip(*parts, strict=True)
    ]
    return Felt(losses.detach(), by_gate.transpose(0, 1), *by_case)


def _magnitudes(gates: Gates, gradients: tuple[Tensor, ...]) -> list[tuple[Tensor, Tensor]]:
    """Per layer (text, head, group): the summed magnitude, and the same spread evenly."""
    views = gates.attention.views if gates.attention else []
    return [
        _by_role(gradient.detach().abs(), view)
        for gradient, view in zip(gradients, views, strict=True)
    ]


def _by_role(sizes: Tensor, view: View) -> tuple[Tensor, Tensor]:
    """Summed over real queries and what they may see, by the role of what is looked at.

    Args:
        sizes: (text, head, query, key) of the derivatives by weights.
    """
    tokens = view.tokens
    sizes = sizes * view.visible.mask()
    mass = answer(view, sizes, Mass(tokens.roles, over=tokens.real)).squeeze(2)
    even = sizes.sum(-1) * tokens.real[:, None] @ view.visible.mean(tokens.roles)
    by_role = [torch.cat([part.sum(-1, keepdim=True), part], -1) for part in (mass, even)]
    return by_role[0], by_role[1]


class Gradients:
    """The magnitude of the gradient by attention, summed over an input, mean over inputs: how
    much the loss would feel if a head looked a little more, or less, at tokens of some role.

    Attention to separators that a loss does not feel is attention that does nothing (Clark et al.
    2019, figure 3). The baseline is the same magnitude spread over all tokens that are seen.
    """

    name: ClassVar[str] = "gradients"

    def __init__(self, layout: Layout) -> None:
        self.magnitude = Tally(layout, len(GROUPS))
        self.even = Tally(layout, len(GROUPS))

    @property
    def tallies(self) -> dict[str, Tally]:
        """What two shards add up."""
        return {"magnitude": self.magnitude, "even": self.even}

    def add(self, found: Felt, batch: CaseBatch) -> None:
        """Take in a batch."""
        if found.magnitude is None or found.even is None:
            return
        buckets = torch.tensor([bucket_of(case.example.unit) for case in batch.cases])
        ones = torch.ones(len(batch.cases), 1, 1)
        for tally, values in ((self.magnitude, found.magnitude), (self.even, found.even)):
            for layer in range(values.shape[1]):
                tally.add(layer, values[:, layer], ones, buckets)

    def statistics(self) -> list[Statistic]:
        """The magnitude by role."""
        return [
            Statistic(
                "magnitude",
                self.magnitude,
                self.even,
                Unit.GRADIENT,
                "summed size of the derivative of the loss by the weights of attention to tokens "
                "of this role, mean over inputs",
                GROUPS,
                headlines={"all": "felt attention", "separator": "felt attention to separators"},
            )
        ]
