"""Roles of tokens: separators and punctuation.

Models differ in their separators (`[SEP]`, `</s>`, or none at all in a decoder), so they are taken
from the tokenizer and not from a list.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerBase

STOPS = frozenset(".,。，、．।۔،")
"""Full stops and commas, with those of other scripts."""


class TokenRoles:
    """The roles of token ids for one tokenizer; each id is decoded once."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._decoded, self._stop, self._punctuation = np.zeros((3, len(tokenizer)), dtype=bool)
        ends = (tokenizer.sep_token_id, tokenizer.eos_token_id)
        self._separators = np.array([end for end in ends if isinstance(end, int)], dtype=np.int64)

    def separator(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each id is a separator or an end of text; any shape."""
        return np.isin(ids, self._separators)

    def punctuation(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each id consists of punctuation only; any shape."""
        self._decode(ids)
        return self._punctuation[ids]

    def stop(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each id is a full stop or a comma; any shape."""
        self._decode(ids)
        return self._stop[ids]

    def _decode(self, ids: NDArray[np.int64]) -> None:
        beyond = int(ids.max(initial=-1)) + 1 - len(self._decoded)
        if beyond > 0:  # some tokenizers do not count the codes of languages
            known = np.stack([self._decoded, self._stop, self._punctuation])
            known = np.pad(known, ((0, 0), (0, beyond)))
            self._decoded, self._stop, self._punctuation = known
        for token_id in np.unique(ids[~self._decoded[ids]]):
            text = piece_text(self._tokenizer, int(token_id))
            self._stop[token_id] = text in STOPS
            self._punctuation[token_id] = is_punctuation(text)
            self._decoded[token_id] = True


def piece_text(tokenizer: PreTrainedTokenizerBase, piece: int) -> str:
    """The text of a piece, without the marks that tokenizers put on pieces."""
    return str(tokenizer.decode([piece])).replace("##", "").strip(" ▁Ġ")


def is_punctuation(text: str) -> bool:
    """Whether a text consists of punctuation only.

    >>> is_punctuation("--"), is_punctuation("a."), is_punctuation("$")
    (True, False, False)
    """
    return bool(text) and all(unicodedata.category(sign).startswith("P") for sign in text)
