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
from headscope.evidence import Shape, Statistic, Tally, Unit
from headscope.model import Batch, Gates, Model, gate_heads
from headscope.model.attention import Visible
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
            parts = _magnitudes(gates, found[1:], batch.batch)
    finally:
        network.train(training)
    by_case = [
        torch.stack(part, 1).view(cases, -1, model.layers, model.heads, len(GROUPS)).sum(1)
        for part in zip(*parts, strict=True)
    ]
    return Felt(losses.detach(), by_gate.transpose(0, 1), *by_case)


def _magnitudes(
    gates: Gates, gradients: tuple[Tensor, ...], batch: Batch
) -> list[tuple[Tensor, Tensor]]:
    """Per layer (text, head, group): the summed magnitude, and the same spread evenly."""
    masks = gates.attention.masks if gates.attention else []
    return [
        _by_role(gradient.detach().abs(), mask, batch)
        for gradient, mask in zip(gradients, masks, strict=True)
    ]


def _by_role(size: Tensor, mask: Visible, batch: Batch) -> tuple[Tensor, Tensor]:
    """Summed over real queries and what they may see, by the role of what is looked at."""
    seen = mask.mask & batch.real[:, None, :, None] & batch.real[:, None, None, :]
    size = size * seen
    keys = batch.roles.unsqueeze(1)  # (text, 1, key, role)
    made = (size.sum(2, keepdim=True) @ keys).squeeze(2)  # (text, head, role)
    shares = seen.float() @ keys  # (text, 1, query, role)
    shares = shares / shares.sum(-1, keepdim=True).clamp_min(1)
    even = (size.sum(-1).unsqueeze(2) @ shares).squeeze(2)
    found = [torch.cat([one.sum(-1, keepdim=True), one], -1) for one in (made, even)]
    return found[0], found[1]


class Gradients:
    """The magnitude of the gradient by attention, summed over an input, mean over inputs: how
    much the loss would feel if a head looked a little more, or less, at tokens of some role.

    Attention to separators that a loss does not feel is attention that does nothing (Clark et al.
    2019, figure 3). The baseline is the same magnitude spread over all tokens that are seen.
    """

    name: ClassVar[str] = "gradients"

    def __init__(self, shape: Shape) -> None:
        self.magnitude = Tally(shape, len(GROUPS))
        self.even = Tally(shape, len(GROUPS))

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
                "magnitude", self.magnitude, self.even, Unit.GRADIENT,
                "summed size of the derivative of the loss by the weights of attention to tokens "
                "of this role, mean over inputs", GROUPS,
                headlines={"all": "felt attention", "separator": "felt attention to separators"},
            )
        ]  # fmt: skip
