"""Choices that the papers make differently or leave open; the defaults are those of ANALYSES."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """How annotation is turned into questions about heads; part of what identifies a run.

    Attributes:
        pieces: attention *from* a word is the `mean` over its pieces, or that of its `first`
            piece (Clark's paper says the one, their code did the other).
        possessive: before `'s`, score the prediction of the `'s` for `poss` (Clark's code).
        all_words: let punctuation and roots count among all words (Clark's "all").
        clip: a fixed offset that falls outside the text guesses its edge (Clark's code).
        min_count: relations with fewer instances are left out.
        frame_words, element_words, distance: Kovaleva's filter: sentences of at most so many
            words, core elements of at most so many, at least so far from the target.
        negations: negating words instead of the English ones.
        distance_rows: of a large corpus about so many rows are compared between heads; 0: all.
    """

    pieces: str = "mean"
    possessive: bool = False
    all_words: bool = False
    clip: bool = False
    min_count: int = 100
    frame_words: int = 12
    element_words: int = 3
    distance: int = 2
    negations: tuple[str, ...] = ()
    distance_rows: int = 8192
