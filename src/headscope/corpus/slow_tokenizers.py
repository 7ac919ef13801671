"""Which word each piece belongs to, for tokenizers that are written in Python and do not say it.

Those of the published Marian (Opus-MT) and M2M100 models are of this kind. A text is split at white
space, and each word is tokenized by itself: where that gives the pieces of the text, the word of
every piece is known. A tokenizer that reads words together is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headscope.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SPACE = "▁"
"""How SentencePiece writes the space before a word."""


@dataclass(frozen=True)
class SlowEncoding:
    """A tokenized text; the attributes are those that a fast tokenizer's encoding has.

    Attributes:
        special_tokens_mask: (piece,) whether the piece is a special token.
        word_ids: (piece,) the word, counted from 0; None for special tokens.
        sequence_ids: (piece,) 0; None for special tokens.
        offsets: (piece,) the characters of the text that it stands for.
    """

    ids: list[int]
    special_tokens_mask: list[bool]
    word_ids: list[int | None]
    offsets: list[tuple[int, int]]

    @property
    def sequence_ids(self) -> list[int | None]:
        """(piece,) the text that it is of."""
        return [None if word is None else 0 for word in self.word_ids]

    @property
    def type_ids(self) -> list[int]:
        """(piece,) its segment."""
        return [0] * len(self.ids)


def encode_slowly(
    texts: Sequence[str | list[str]],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int | None,
    target: bool,
) -> list[SlowEncoding]:
    """Tokenize texts or lists of words, truncated to `max_length` pieces.

    Args:
        target: whether they are what a decoder says.
    """
    asked = "text_target" if target else "text"
    of_texts = [text if isinstance(text, list) else text.split() for text in texts]
    known = sorted({word for words in of_texts for word in words})
    options = {"add_special_tokens": False, "verbose": False}
    tokenized = tokenizer(**{asked: known}, **options)["input_ids"] if known else []
    pieces = dict(zip(known, tokenized, strict=True))
    empty: list[int] = tokenizer(**{asked: ""})["input_ids"]
    encodings = []
    for text, words in zip(texts, of_texts, strict=True):
        content = [piece for word in words for piece in pieces[word]]
        split = isinstance(text, list)
        whole: list[int] = tokenizer(
            **{asked: text}, is_split_into_words=split, truncation=False, verbose=False
        )["input_ids"]
        before = _specials_before(whole, content, len(empty))
        if before is None:
            raise ModelError(
                "its tokenizer is written in Python, and does not read words one by one: which "
                f"word a piece belongs to cannot be told (in {str(text)[:60]!r})"
            )
        after = len(empty) - before
        if max_length is not None:
            content = content[: max(max_length - len(empty), 0)]
        ids = [*whole[:before], *content, *whole[len(whole) - after :]]
        places = [place for place, word in enumerate(words) for _ in pieces[word]]
        shown = [list(tokenizer.convert_ids_to_tokens(pieces[word])) for word in words]
        spans = _spans(text, words, shown, str(tokenizer.unk_token))
        kept = len(content)
        encodings.append(
            SlowEncoding(
                ids,
                [True] * before + [False] * kept + [True] * after,
                [None] * before + places[:kept] + [None] * after,
                [(0, 0)] * before + spans[:kept] + [(0, 0)] * after,
            )
        )
    return encodings


def _specials_before(whole: list[int], content: list[int], specials: int) -> int | None:
    """How many special tokens stand before the content; None if it is not in the whole."""
    if len(whole) != len(content) + specials:
        return None
    for before in range(specials + 1):
        if whole[before : before + len(content)] == content:
            return before
    return None


def _spans(
    text: str | list[str], words: list[str], pieces: list[list[str]], unknown: str
) -> list[tuple[int, int]]:
    """The characters of each piece: in the text, or in its word where words are given."""
    spans, start = [], 0
    for word, its in zip(words, pieces, strict=True):
        start = 0 if isinstance(text, list) else text.index(word, start)
        end = start + len(word)
        for piece in its:
            shown = "?" if piece == unknown else piece.replace(SPACE, "")
            first = min(start, end)
            start = min(first + len(shown), end)
            spans.append((first, start))
        start = end
    return spans
