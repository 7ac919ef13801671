"""Repetition: what the heads of a decoder do when random tokens come a second time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, Inputs, analysis
from headscope.evidence import Statistic, Tally, Unit
from headscope.evidence.role_rule import LENS, OURS, RoleRule
from headscope.model import Batch, LayerAttention

if TYPE_CHECKING:
    from torch import Tensor

PLACES = ("previous", "duplicate", "induction", "first")
HEADLINES = {"previous": "previous token", "duplicate": "same token, before",
             "induction": "induction", "first": "attention sink"}  # fmt: skip


@analysis("repetition")
class Repetition(Analysis):
    """What a decoder's heads do on random tokens that come twice: look at the token before, at
    the same token's first time, at what followed it then (induction), or at the first token.

    `weight` is the mean weight on that place over the queries that have one. `detector` is the
    score of TransformerLens's head detector: the share of all attention that falls on such
    places. The baseline attends to all visible tokens alike.
    """

    roles = (
        RoleRule(
            "decoder",
            "on tokens that come twice, puts {value} of its attention on {group}",
            "weight",
            0.4,
            f"{OURS}, after {LENS}",
            rank=120,
            excluded=("first",),
        ),
    )

    inputs = Inputs.REPEATED

    def make_tallies(self) -> None:
        self.weight = Tally(self.shape, 2 * len(PLACES))
        self.uniform = Tally(self.shape, 2 * len(PLACES), heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        places, counts = batch.once(self, lambda: _places(batch))
        for tally, weights in (
            (self.weight, attention.weights),
            (self.uniform, attention.visible.uniform),
        ):
            sums = torch.einsum("bhij,bpij->bhp", weights, places)
            tally.add(attention.layer, sums.repeat(1, 1, 2), counts, batch.buckets)

    def statistics(self) -> Iterator[Statistic]:
        half = len(PLACES)
        yield Statistic(
            "weight", self.weight.part(slice(0, half)), self.uniform.part(slice(0, half)),
            Unit.SHARE, "mean weight on this place, over the queries that have one", PLACES,
            headlines=HEADLINES,
        )  # fmt: skip
        yield Statistic(
            "detector", self.weight.part(slice(half, None)), self.uniform.part(slice(half, None)),
            Unit.SHARE, "share of all attention on such places, as TransformerLens detects heads",
            PLACES,
        )  # fmt: skip


def _places(batch: Batch) -> tuple[Tensor, Tensor]:
    """(example, place, query, key) 0 or 1, and (example, 1, group) over how many queries."""
    ids, real = batch.ids, batch.real
    both = (real[:, :, None] & real[:, None, :]).tril()
    before = torch.zeros_like(both)
    before[:, 1:, :-1] = torch.eye(ids.shape[1] - 1, dtype=torch.bool, device=ids.device)
    same = (ids[:, :, None] == ids[:, None, :]).tril(-1)
    after = torch.zeros_like(same)
    after[:, :, 1:] = same[:, :, :-1]  # the key after the one that is the same
    first = batch.first[:, None, :].expand_as(same)
    places = torch.stack([before, same, after.tril(), first], 1) & both[:, None]
    asked = places.any(-1).sum(-1)  # (example, place) queries that have such a place
    every = real.sum(1, keepdim=True).expand_as(asked)
    return places.float(), torch.cat([asked, every], 1)[:, None]
