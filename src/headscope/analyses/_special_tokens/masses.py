"""How much of their attention heads give to special tokens, as a run has it."""

from __future__ import annotations

from headscope.runs import Results, rows_of

Heads = dict[tuple[int, int], float]
SPECIALS = ("first", "separator")
RESTS = 0.5
"""A head rests on specials with so much of its attention."""


def of_heads(results: Results, analysis: str, group: str, **wanted: str) -> Heads:
    """One number of each head, by layer and head."""
    rows = rows_of(results.heads, analysis=analysis, group=group, **wanted)
    return {(row["layer"], row["head"]): row["value"] for row in rows if row["head"] is not None}


def masses(results: Results, corpus: str, weights: str) -> list[Heads]:
    """The mean attention of each head to each of `SPECIALS`."""
    wanted = {"corpus": corpus, "weights": weights, "direction": "from all"}
    return [of_heads(results, "special_tokens", group, **wanted) for group in SPECIALS]
