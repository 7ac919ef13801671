"""Rollout: where a token's vector comes from, all layers so far taken together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, analysis
from headscope.evidence import Mean, Statistic, Unit
from headscope.model import Batch
from headscope.model.attention import Mass, Request, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

GROUPS = ("itself", "first", "separator", "punctuation", "other words")
ROWS = ("from all tokens", "from the first token")


def rollout(maps: NDArray[np.float32]) -> NDArray[np.float64]:
    """Attention rollout of one text (Abnar and Zuidema 2020).

    Half of what a layer passes on is the token itself (the residual path), half is what its
    heads take, each alike; layers are multiplied.

    Args:
        maps: (layer, head, query, key)

    Returns:
        (layer, query, key) how much of each input token is in each token after each layer; rows
        sum to 1.

    >>> maps = np.array([[[[0.0, 1.0], [0.0, 1.0]]]], dtype=np.float32)
    >>> rollout(maps)[0].tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    own = np.eye(maps.shape[-1])
    total, layers = own, []
    for layer in maps.astype(np.float64).mean(1):
        total = (layer + own) / 2 @ total
        layers.append(total)
    return np.stack(layers)


@analysis("rollout")
class Rollout(Analysis):
    """Attention of all heads of a layer and of all layers below multiplied out: how much of each
    kind of input token is in a token's vector after this layer, the residual path counted.

    Per layer half of a token stays itself and half comes from the mean of the heads' maps (Abnar
    and Zuidema 2020). Mean over all tokens, and for the first token's row alone. The baseline
    is the same with heads that attend to all visible tokens alike.
    """

    def make_tallies(self) -> None:
        self.mass = Mean(self.layout, len(ROWS) * len(GROUPS), heads=1)

    def ask(self, view: View) -> dict[str, Request]:
        if self not in view.scope:  # one for all masks of a batch
            ids = view.tokens.ids
            own = torch.eye(ids.shape[1], device=ids.device).expand(len(ids), -1, -1)
            view.scope[self] = own, own.double()
        return {"step": Mass(lambda: view.scope[self][0], together=True)}

    def observe(self, seen: Seen) -> None:
        view, (total, uniform) = seen.view, seen.view.scope[self]
        total = (total + seen["step"][:, 0]) / 2
        uniform = (uniform + view.visible.mean(uniform)) / 2
        view.scope[self] = total, uniform
        counts = view.once(self, lambda: _counts(view.tokens))
        self.mass.add(seen, _sums(total, view.tokens), counts, _sums(uniform, view.tokens))

    def statistics(self) -> Iterator[Statistic]:
        for place, direction in enumerate(ROWS):
            part = slice(place * len(GROUPS), (place + 1) * len(GROUPS))
            yield Statistic.of(
                "rolled_out",
                self.mass.part(part),
                Unit.SHARE,
                "how much of a token's vector after this layer comes from such tokens",
                groups=GROUPS,
                direction=direction,
                per_layer=True,
                headlines={"itself": "itself, rolled out"} if place == 0 else {},
            )


def _sums(total: Tensor, batch: Batch) -> Tensor:
    """(example, 1, row group x key group) of rolled out maps (example, query, key)."""
    real, roles = batch.real.to(total.dtype), batch.roles.to(total.dtype)
    diagonal = total.diagonal(dim1=1, dim2=2) * real
    others = total - torch.diag_embed(total.diagonal(dim1=1, dim2=2))
    by_role = others @ roles  # (example, query, role)
    rows = torch.cat([diagonal.unsqueeze(-1), by_role], -1)
    every = (rows * real.unsqueeze(-1)).sum(1)
    return torch.cat([every, rows[:, 0]], -1)[:, None]


def _counts(batch: Batch) -> Tensor:
    """(example, 1, group) how many rows each mean is over."""
    rows = torch.stack([batch.real.sum(1), batch.first.sum(1)], -1)
    counts = rows.repeat_interleave(len(GROUPS), 1)
    counts[:, len(GROUPS) + GROUPS.index("first")] = 0  # the first token is itself
    return counts[:, None]
