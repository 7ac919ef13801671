"""Value norms: how much a token can give, by what the token is (Kobayashi et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, Needs, analysis
from headscope.evidence import Mean, Statistic, Unit
from headscope.model.attention import ANY, Norms, Request, Seen, View

ROLES = ("first", "separator", "punctuation", "other")


@analysis("value_norms")
class ValueNorms(Analysis):
    """The norm of what a head takes from a token when it looks at it fully: a head that rests on
    a token with a small norm does next to nothing.

    The norm of the value vector after the head's part of the output projection, mean over the
    tokens of a role, as a multiple of the mean over all tokens of the same text and head (1: as
    much as any other token). The baseline is 1.
    """

    kinds = ANY
    needs = (Needs.VALUES,)

    def make_tallies(self) -> None:
        self.norm = Mean(self.layout, len(ROLES))

    def ask(self, view: View) -> dict[str, Request]:
        return {"norms": Norms()}

    def observe(self, seen: Seen) -> None:
        keys = seen.view.keys
        counts = seen.view.once(self, lambda: keys.roles.sum(1)[:, None])
        norms = seen["norms"] * keys.real[:, None]
        mean = norms.sum(-1, keepdim=True) / keys.real.sum(-1)[:, None, None]
        shares = (norms / mean.clamp_min(torch.finfo(norms.dtype).tiny)) @ keys.roles
        self.norm.add(seen, shares, counts, counts)

    def statistics(self) -> Iterator[Statistic]:
        yield Statistic.of(
            "relative_norm",
            self.norm,
            Unit.TIMES,
            "norm of the transformed value vector, as a multiple of the text's mean",
            groups=ROLES,
            headlines={"separator": "norm of separators", "first": "norm of the first token"},
        )
