"""Gradients of a task's loss with respect to gates on head outputs and to attention weights.

Michel et al. 2019 put a gate of 1 on the output of each head and differentiate the loss with
respect to it. Clark et al. 2019 (figure 3) differentiate it with respect to each attention weight.
Both need one backward pass per batch: the losses of different examples are independent, so the
gradient of their sum has the gradient of each example in its own rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from headscope.corpus import Budget, bucket_of
from headscope.evidence import Layout, Statistic, Tally, Unit
from headscope.model import Gates, Model, evaluating, gate_heads
from headscope.model.attention import Mass, View, answer
from headscope.tasks import CaseBatch, Task

GROUPS = ("all", "first", "separator", "punctuation", "other")
BATCH = Budget(2048, 2048 * 128)
"""The size of a batch: what the backward pass needs is kept for all of it."""


@dataclass(frozen=True)
class LossGradients:
    """Gradients of the losses of a batch of cases.

    Attributes:
        losses: (case,)
        gates: (case, layer, head) derivative with respect to a gate on the head's output.
        magnitude: (case, layer, head, group) summed absolute derivatives with respect to the
            weights of attention to tokens of a role; None where not requested.
        even: the same, with the magnitude of each row spread evenly over the tokens it can see.
    """

    losses: Tensor
    gates: Tensor
    magnitude: Tensor | None = None
    even: Tensor | None = None


def gradients_of_loss(
    model: Model, task: Task, batch: CaseBatch, *, attention: bool = True
) -> LossGradients:
    """Run one forward and one backward pass over a batch of cases.

    Args:
        attention: differentiate with respect to the attention weights as well.
    """
    cases = len(batch.cases)
    gating = gate_heads(model, batch.batch, attention=attention)
    with evaluating(model.whole), gating as gates:
        with torch.enable_grad():
            losses = task.losses(model, batch, batch.inputs(model))
            wanted = [gates.values, *(gates.attention.weights if gates.attention else ())]
            by_gate, *by_weight = torch.autograd.grad(losses.sum(), wanted)
        by_gate = by_gate.view(model.layers, cases, -1, model.heads).sum(2)
        parts = _magnitudes(model, gates, by_weight)
    by_case = [part.view(cases, -1, *part.shape[1:]).sum(1) for part in parts]
    return LossGradients(losses.detach(), by_gate.transpose(0, 1), *by_case)


def _magnitudes(model: Model, gates: Gates, gradients: list[Tensor]) -> list[Tensor]:
    """(text, layer, head, group) the summed magnitude, and the same spread evenly."""
    if gates.attention is None:
        return []
    shape = (len(gradients[0]), model.layers, model.heads, len(GROUPS))
    sums = [torch.zeros(shape, device=gradients[0].device) for _ in range(2)]
    by_layer: dict[int, Tensor] = {}
    for layer, gradient in zip(gates.attention.layers, gradients, strict=True):
        # weights that are used twice in a layer have two derivatives
        by_layer[layer] = by_layer[layer] + gradient if layer in by_layer else gradient
    views = dict(zip(gates.attention.layers, gates.attention.views, strict=True))
    for layer, gradient in by_layer.items():
        parts = _by_role(gradient.detach().abs(), views[layer])
        for total, part in zip(sums, parts, strict=True):
            total[:, layer, : gradient.shape[1]] = part
    return sums


def _by_role(sizes: Tensor, view: View) -> tuple[Tensor, Tensor]:
    """Sums over real queries and the keys visible to them, by the role of the key.

    Args:
        sizes: (text, head, query, key) of the derivatives by weights.
    """
    roles, real = view.keys.roles, view.queries.real
    sizes = sizes * view.visible.mask()
    mass = answer(view, sizes, Mass(roles, over=real)).squeeze(2)
    even = sizes.sum(-1) * real[:, None] @ view.visible.mean(roles)
    return _with_total(mass), _with_total(even)


def _with_total(by_role: Tensor) -> Tensor:
    """(..., role) with the sum over roles in front."""
    return torch.cat([by_role.sum(-1, keepdim=True), by_role], -1)


class Gradients:
    """Magnitude of the gradient of the loss with respect to attention weights, summed over an
    input and averaged over inputs: how much the loss would change if a head attended a little
    more, or less, to tokens of a role.

    Attention to separators that hardly changes the loss acts as a no-op (Clark et al. 2019,
    figure 3). The baseline spreads the same magnitude evenly over all visible tokens.
    """

    name: ClassVar[str] = "gradients"

    def __init__(self, layout: Layout) -> None:
        self.magnitude = Tally(layout, len(GROUPS))
        self.even = Tally(layout, len(GROUPS))

    @property
    def tallies(self) -> dict[str, Tally]:
        """The tallies by name; those of two shards add up."""
        return {"magnitude": self.magnitude, "even": self.even}

    def add(self, gradients: LossGradients, batch: CaseBatch) -> None:
        """Add a batch."""
        if gradients.magnitude is None or gradients.even is None:
            return
        buckets = torch.tensor([bucket_of(case.example.unit) for case in batch.cases])
        ones = torch.ones(len(batch.cases), 1, 1)
        for tally, values in (
            (self.magnitude, gradients.magnitude),
            (self.even, gradients.even),
        ):
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
