"""Conventions that several analyses share and on which the papers differ."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.errors import HeadscopeError

PIECE_POOLING = ("mean", "first")


@dataclass(frozen=True)
class Conventions:
    """How the pieces of a word are pooled, and which relations are reported.

    Runs with different conventions are different runs.

    Attributes:
        pieces: attention *from* a word of several pieces is the `mean` over its pieces, or the
            attention of its `first` piece (the paper of Clark et al. says the former, their code
            does the latter).
        min_count: minimum number of instances of a relation that is reported.
    """

    pieces: str = "mean"
    min_count: int = 100

    def __post_init__(self) -> None:
        if self.pieces not in PIECE_POOLING:
            raise HeadscopeError(f"--pieces must be 'mean' or 'first', not {self.pieces!r}")
