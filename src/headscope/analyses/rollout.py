"""Rollout: where a token's vector comes from, all layers so far taken together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, analysis
from headscope.evidence import Statistic, Tally, Unit
from headscope.model import Batch, LayerAttention

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

    >>> one = np.array([[[[0.0, 1.0], [0.0, 1.0]]]], dtype=np.float32)
    >>> rollout(one)[0].tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    own = np.eye(maps.shape[-1])
    total, found = own, []
    for layer in maps.astype(np.float64).mean(1):
        total = (layer + own) / 2 @ total
        found.append(total)
    return np.stack(found)


@analysis("rollout")
class Rollout(Analysis):
    """Attention of all heads of a layer and of all layers below multiplied out: how much of each
    kind of input token is in a token's vector after this layer, the residual path counted.

    Per layer half of a token stays itself and half comes from the mean of the heads' maps (Abnar
    and Zuidema 2020). Mean over all tokens, and for the first token's row alone. The baseline
    is the same with heads that attend to all visible tokens alike.
    """

    def make_tallies(self) -> None:
        size = len(ROWS) * len(GROUPS)
        self.mass = Tally(self.shape, size, heads=1)
        self.uniform = Tally(self.shape, size, heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        if attention.layer == 0:
            length = batch.ids.shape[1]
            own = torch.eye(length, device=batch.ids.device).expand(len(batch.ids), -1, -1)
            self._totals = [own, own]
        counts = batch.once(self, lambda: _counts(batch))
        maps = (attention.weights.mean(1), attention.visible.uniform[:, 0])
        for place, (tally, layer) in enumerate(zip((self.mass, self.uniform), maps, strict=True)):
            before = self._totals[place]
            after = self._totals[place] = torch.baddbmm(before, layer, before) / 2
            sums = _sums(after, batch)
            tally.add(attention.layer, sums, counts, batch.buckets)

    def statistics(self) -> Iterator[Statistic]:
        for place, direction in enumerate(ROWS):
            part = slice(place * len(GROUPS), (place + 1) * len(GROUPS))
            yield Statistic(
                "rolled_out", self.mass.part(part), self.uniform.part(part), Unit.SHARE,
                "how much of a token's vector after this layer comes from such tokens",
                GROUPS, direction, per_layer=True,
                headlines={"itself": "itself, rolled out"} if place == 0 else {},
            )  # fmt: skip


def _sums(total: Tensor, batch: Batch) -> Tensor:
    """(example, 1, row group x key group) of rolled out maps (example, query, key)."""
    real = batch.real.float()
    diagonal = total.diagonal(dim1=1, dim2=2) * real
    others = total - torch.diag_embed(total.diagonal(dim1=1, dim2=2))
    by_role = others @ batch.roles  # (example, query, role)
    rows = torch.cat([diagonal.unsqueeze(-1), by_role], -1)
    every = (rows * real.unsqueeze(-1)).sum(1)
    return torch.cat([every, rows[:, 0]], -1)[:, None]


def _counts(batch: Batch) -> Tensor:
    """(example, 1, group) how many rows each mean is over."""
    rows = torch.stack([batch.real.sum(1), batch.first.sum(1)], -1)
    counts = rows.repeat_interleave(len(GROUPS), 1)
    counts[:, len(GROUPS) + GROUPS.index("first")] = 0  # the first token is itself
    return counts[:, None]
