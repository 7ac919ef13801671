"""Focus: how broadly a head looks (Clark et al. 2019, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.base import Analysis, analysis
from headscope.evidence import Statistic, Tally, Unit
from headscope.model import Batch, LayerAttention


@analysis("focus")
class Focus(Analysis):
    """Entropy of attention rows in nats: 0 looks at one token, the logarithm of the length at
    all alike. Its share of that logarithm compares texts of different length.

    Over all real queries, specials included; of the first token's row alone; and relative to
    the logarithm of the number of visible tokens, rows that see one token left out. The
    baseline is the entropy of attention to all visible tokens alike.
    """

    def start(self) -> None:
        self.rows, self.uniform_rows = Tally(self.shape), Tally(self.shape, heads=1)
        self.first, self.uniform_first = Tally(self.shape), Tally(self.shape, heads=1)
        self.relative, self.uniform_relative = Tally(self.shape), Tally(self.shape, heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        most = attention.visible.count.log()  # (example, 1, query)
        real, first = batch.real[:, None].float(), batch.first[:, None].float()
        broad = real * (most > 0)
        share = broad / most.where(most > 0, most.new_ones(()))
        for tally, uniform, weight, where in (
            (self.rows, self.uniform_rows, real, real),
            (self.first, self.uniform_first, first, first),
            (self.relative, self.uniform_relative, share, broad),
        ):
            counts = where.sum(-1, keepdim=True)
            for target, entropy in ((tally, attention.entropy), (uniform, most)):
                sums = (entropy * weight).sum(-1, keepdim=True)
                target.add(attention.layer, sums, counts, batch.buckets)

    def statistics(self) -> Iterator[Statistic]:
        for name, tally, uniform, unit, text, line in (
            ("entropy", self.rows, self.uniform_rows, Unit.NATS,
             "mean entropy of the attention rows", "entropy of all rows"),
            ("entropy_first", self.first, self.uniform_first, Unit.NATS,
             "mean entropy of the first token's row", "entropy of the first token's row"),
            ("entropy_relative", self.relative, self.uniform_relative, Unit.SHARE,
             "mean entropy as a share of the largest possible", "entropy, of the largest possible"),
        ):  # fmt: skip
            yield Statistic(name, tally, uniform, unit, text, headlines={"": line})
