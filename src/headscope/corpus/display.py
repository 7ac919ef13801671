"""Which texts of a corpus are displayed: those of readable length first, then by hash of the id."""

from __future__ import annotations

from headscope.corpus.buckets import stable_hash
from headscope.corpus.pieces import Pieces

NUM_MAPS = 6
"""Number of texts whose attention maps are kept."""
SHORTEST, LONGEST = 6, 24
"""Number of tokens of a text whose map is easy to read; others are used only if these run out."""
MAX_TOKENS = 48
"""Longer texts are displayed up to this token."""
MAX_WORDS = 30
"""Words of a text that is displayed with arcs on one line."""


def display_rank(pieces: Pieces) -> int:
    """The sort key by which texts are selected: readable ones first, then by hash of the id."""
    unreadable = not SHORTEST <= len(pieces) <= LONGEST
    return (unreadable << 63) | (stable_hash(pieces.example.id) >> 1)


def has_readable_length(pieces: Pieces) -> bool:
    """Whether a text can be displayed token by token, and is more than a word or two."""
    return SHORTEST <= len(pieces) <= MAX_WORDS


def select_for_maps(shard: list[Pieces], size: int = NUM_MAPS) -> list[Pieces]:
    """The `size` texts of a shard with the lowest rank."""
    return sorted(shard, key=lambda pieces: (display_rank(pieces), pieces.example.id))[:size]
