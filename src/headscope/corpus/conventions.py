"""Conventions that several analyses share and that the papers choose differently."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.errors import HeadscopeError

JOINED = ("mean", "first")


@dataclass(frozen=True)
class Conventions:
    """How split words are joined and when a relation is reported; part of what identifies a run.

    Attributes:
        pieces: attention *from* a split word is the `mean` over its pieces, or that of its
            `first` piece (Clark's paper says the one, their code did the other).
        min_count: relations with fewer instances are left out.
    """

    pieces: str = "mean"
    min_count: int = 100

    def __post_init__(self) -> None:
        if self.pieces not in JOINED:
            raise HeadscopeError(f"--pieces is 'mean' or 'first', not {self.pieces!r}")
