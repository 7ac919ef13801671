"""How much of their attention heads give to special tokens, as a run has it."""

from __future__ import annotations

from headscope.evidence import HEADS
from headscope.runs import RunResults

Heads = dict[tuple[int, int], float]
"""A number of each head, by layer and head."""
SPECIALS = ("first", "separator")
RESTS = 0.5
"""A head rests on specials with at least this much of its attention."""


def of_heads(results: RunResults, analysis: str, group: str, **wanted: str) -> Heads:
    """One number of each head."""
    rows = results.rows(HEADS, analysis=analysis, group=group, **wanted)
    return {row.place: row.value for row in rows if row.head is not None}


def masses(results: RunResults, corpus: str, weights: str) -> list[Heads]:
    """The mean attention of each head to each of `SPECIALS`."""
    wanted = {"corpus": corpus, "weights": weights, "direction": "from all"}
    return [of_heads(results, "special_tokens", group, **wanted) for group in SPECIALS]
