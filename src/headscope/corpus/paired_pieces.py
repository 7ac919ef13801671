"""A text and its translation, tokenized: what an encoder reads, and what a decoder is to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from headscope.corpus.example import Example
from headscope.corpus.pieces import Pieces, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerBase

IGNORED = -100
"""Stands where nothing is to be said."""


@dataclass(frozen=True)
class PairedPieces(Pieces):
    """The pieces of a text, and beside them those of its translation.

    Attributes:
        target: what the decoder reads: the token it starts with, then the translation without its
            last token.
        labels: (piece of the target,) what it is to say at each: the next piece.
    """

    target: Pieces = field(kw_only=True)
    labels: NDArray[np.int64] = field(kw_only=True)

    @property
    def sides(self) -> tuple[Pieces, ...]:
        """The text and its translation."""
        return (self.source, self.target)

    @property
    def source(self) -> Pieces:
        """The text alone."""
        values = {each.name: getattr(self, each.name) for each in fields(Pieces)}
        return self.once("source", lambda _: Pieces(**values))

    @classmethod
    def of(cls, source: Pieces, said: Pieces, start: int | None) -> PairedPieces:
        """From a text and its translation, both as the tokenizer gives them.

        Args:
            start: the id that a decoder starts with; None: the last of the translation.
        """
        first = said.ids[-1] if start is None else start
        target = Pieces(
            said.example,
            np.append(first, said.ids[:-1]),
            np.zeros_like(said.segments),
            np.append(True, said.special[:-1]),
            np.append(-1, said.word[:-1]),
            said.words,
            said.lost,
        )
        values = {each.name: getattr(source, each.name) for each in fields(Pieces)}
        labels = said.ids if said.words else np.full_like(said.ids, IGNORED)
        return cls(**values, target=target, labels=labels)


def pair_up(
    texts: Sequence[Pieces],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
    start: int | None,
) -> Iterator[PairedPieces]:
    """Tokenized texts with their translations; where a text has none, nothing is to be said.

    Args:
        start: see `PairedPieces.of`.
    """
    translations = [one.example.translation for one in texts if one.example.translation is not None]
    said = iter(encode(translations, tokenizer, max_length, target=True) if translations else ())
    for text in texts:
        if text.example.translation is not None:
            yield PairedPieces.of(text, next(said), start)
        else:
            yield PairedPieces.of(text, _nothing(text, tokenizer), start)


def _nothing(text: Pieces, tokenizer: PreTrainedTokenizerBase) -> Pieces:
    """What stands for a translation that is not there: one token, and nothing to be said."""
    ids = [tokenizer.eos_token_id, tokenizer.pad_token_id, 0]
    last = next(each for each in ids if isinstance(each, int))
    nobody = Example(text.example.id, document=text.example.document)
    one = np.zeros(1, dtype=np.int64)
    return Pieces(nobody, one + last, one, np.ones(1, dtype=bool), one - 1, ())
