"""Focus: how broadly a head looks (Clark et al. 2019, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, analysis
from headscope.evidence import Statistic, Tally, Unit
from headscope.evidence.role_rule import CLARK, OURS, RoleRule
from headscope.model import Batch, LayerAttention

if TYPE_CHECKING:
    from torch import Tensor

ROWS = (
    ("entropy", Unit.NATS, "mean entropy of the attention rows", "entropy of all rows"),
    ("entropy_first", Unit.NATS, "mean entropy of the first token's row",
     "entropy of the first token's row"),
    ("entropy_relative", Unit.SHARE, "mean entropy as a share of the largest possible",
     "entropy, of the largest possible"),
)  # fmt: skip


@analysis("focus")
class Focus(Analysis):
    """Entropy of attention rows in nats: 0 looks at one token, the logarithm of the length at
    all alike. Its share of that logarithm compares texts of different length.

    Over all real queries, specials included; of the first token's row alone; and relative to
    the logarithm of the number of visible tokens, rows that see one token left out. The
    baseline is the entropy of attention to all visible tokens alike.
    """

    roles = (
        RoleRule(
            "broad",
            "looks everywhere: its entropy is {value} of the largest possible",
            "entropy_relative",
            0.9,
            f"{OURS}, after {CLARK}",
            rank=90,
        ),
    )

    def make_tallies(self) -> None:
        self.entropy = Tally(self.shape, len(ROWS))
        self.uniform = Tally(self.shape, len(ROWS), heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        scale, counts, uniform = attention.visible.once(self, lambda: self._known(attention, batch))
        self.entropy.add(attention.layer, attention.entropy @ scale, counts, batch.buckets)
        self.uniform.add(attention.layer, uniform, counts, batch.buckets)

    def _known(self, attention: LayerAttention, batch: Batch) -> tuple[Tensor, ...]:
        most = attention.visible.count.log()  # (example, 1, query)
        broad = batch.real & (most[:, 0] > 0)
        share = broad / most[:, 0].masked_fill(~broad, 1)
        scale = torch.stack([batch.real.float(), batch.first.float(), share], -1)
        counts = torch.stack([batch.real, batch.first, broad], -1).sum(1)[:, None]
        return scale, counts, most @ scale

    def statistics(self) -> Iterator[Statistic]:
        for place, (name, unit, text, line) in enumerate(ROWS):
            part = slice(place, place + 1)
            tally, uniform = self.entropy.part(part), self.uniform.part(part)
            yield Statistic(name, tally, uniform, unit, text, headlines={"": line})
