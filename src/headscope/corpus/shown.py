"""Which texts of a corpus are shown to a person: readable ones first, then by a hash of the id."""

from __future__ import annotations

from headscope.corpus.buckets import stable_hash
from headscope.corpus.pieces import Pieces

KEPT = 6
"""Texts whose maps are kept."""
SHORT, LONG = 6, 24
"""A map of so many tokens can be read; other texts are taken only where there are too few."""
SHOWN = 48
"""Of a longer text, so many tokens are shown."""


def rank(pieces: Pieces) -> int:
    """The order in which texts are chosen: readable ones first, then by the hash of the id."""
    unreadable = not SHORT <= len(pieces) <= LONG
    return (unreadable << 63) | (stable_hash(pieces.example.id) >> 1)


def chosen_for_maps(shard: list[Pieces], kept: int = KEPT) -> list[Pieces]:
    """The texts of a shard that rank lowest."""
    return sorted(shard, key=lambda pieces: (rank(pieces), pieces.example.id))[:kept]
