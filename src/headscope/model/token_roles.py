"""The roles of tokens: the first one, separators, punctuation. No token is named by its text.

Which token separates and which is first differs between models (`[SEP]`, `</s>`, a decoder with
neither, whose first token is its attention sink), so the tokenizer is asked, not a list.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerBase

STOPS = frozenset(".,。，、．।۔،")
"""Full stops and commas of the scripts that have their own."""


class Roles:
    """What role a token id plays for one tokenizer; looked up once an id."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        size = len(tokenizer)
        self._known = np.zeros(size, dtype=bool)
        self._stop = np.zeros(size, dtype=bool)
        self._punctuation = np.zeros(size, dtype=bool)
        ends = (tokenizer.sep_token_id, tokenizer.eos_token_id)
        self._separators = np.array([end for end in ends if isinstance(end, int)], dtype=np.int64)

    def separator(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each id is a separator or an end of text; any shape."""
        return np.isin(ids, self._separators)

    def punctuation(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each id is nothing but punctuation; any shape."""
        self._look_up(ids)
        return self._punctuation[ids]

    def stop(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each id is a full stop or a comma; any shape."""
        self._look_up(ids)
        return self._stop[ids]

    def _look_up(self, ids: NDArray[np.int64]) -> None:
        for new in np.unique(ids[~self._known[ids]]):
            text = piece_text(self._tokenizer, int(new))
            self._stop[new] = text in STOPS
            self._punctuation[new] = is_punctuation(text)
            self._known[new] = True


def piece_text(tokenizer: PreTrainedTokenizerBase, piece: int) -> str:
    """What a piece stands for, without the marks that tokenizers put on pieces."""
    return str(tokenizer.decode([piece])).replace("##", "").strip(" ▁Ġ")


def is_punctuation(text: str) -> bool:
    """Whether a text has punctuation in it and nothing else.

    >>> is_punctuation("--"), is_punctuation("a."), is_punctuation("$")
    (True, False, False)
    """
    return bool(text) and all(unicodedata.category(sign).startswith("P") for sign in text)
