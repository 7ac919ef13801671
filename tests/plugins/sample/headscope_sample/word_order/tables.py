"""What the experiment writes."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.plugin import Int32, Table


@dataclass(frozen=True)
class WordOrderRow:
    """A row of word_order.parquet: the mean entropy of a head, in nats."""

    layer: Int32
    head: Int32
    ordered: float
    shuffled: float


WORD_ORDER = Table("word_order", WordOrderRow)


@dataclass(frozen=True)
class WordOrderSummary:
    """What the experiment adds to run.json."""

    texts: int
