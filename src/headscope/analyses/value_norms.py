"""Value norms: how much a token can give, by what the token is (Kobayashi et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, Needs, analysis
from headscope.evidence import Statistic, Tally, Unit
from headscope.model import Batch, LayerAttention

ROLES = ("first", "separator", "punctuation", "other")


@analysis("value_norms")
class ValueNorms(Analysis):
    """The norm of what a head takes from a token when it looks at it fully: a head that rests on
    a token with a small norm does next to nothing.

    The norm of the value vector after the head's part of the output projection, mean over the
    tokens of a role, as a multiple of the mean over all tokens of the same text and head (1: as
    much as any other token). The baseline is 1.
    """

    needs = (Needs.VALUES,)

    def make_tallies(self) -> None:
        self.norm = Tally(self.shape, len(ROLES))
        self.even = Tally(self.shape, len(ROLES), heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        counts = batch.once(self, lambda: batch.roles.sum(1)[:, None])
        norms = attention.norms * batch.real[:, None]
        mean = norms.sum(-1, keepdim=True) / batch.real.sum(-1)[:, None, None]
        shares = (norms / mean.clamp_min(torch.finfo(norms.dtype).tiny)) @ batch.roles
        self.norm.add(attention.layer, shares, counts, batch.buckets)
        self.even.add(attention.layer, counts, counts, batch.buckets)

    def statistics(self) -> Iterator[Statistic]:
        yield Statistic(
            "relative_norm", self.norm, self.even, Unit.TIMES,
            "norm of the transformed value vector, as a multiple of the text's mean",
            groups=ROLES,
            headlines={"separator": "norm of separators", "first": "norm of the first token"},
        )  # fmt: skip
