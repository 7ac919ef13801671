"""Tokenized examples, and the alignment of their pieces with the words of the corpus."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from headscope.corpus.example import Example
from headscope.corpus.slow_tokenizers import encode_slowly
from headscope.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerBase

Result = TypeVar("Result")


@dataclass(frozen=True)
class Pieces:
    """A tokenized example.

    Attributes:
        ids, segments, special: (piece,) input ids, segment ids, and whether it is a special token.
        word: (piece,) position of the piece's word in `words`; -1 for special tokens.
        words: the words of both texts, in order; a word may have no pieces.
        lost: number of pieces that were cut off.
    """

    example: Example
    ids: NDArray[np.int64]
    segments: NDArray[np.int64]
    special: NDArray[np.bool_]
    word: NDArray[np.int64]
    words: tuple[str, ...]
    lost: int = 0
    _cache: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: object, compute: Callable[[Example], Result]) -> Result:
        """A result that depends on the example alone: computed once per key, then cached."""
        if key not in self._cache:
            self._cache[key] = compute(self.example)
        return cast(Result, self._cache[key])

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sides(self) -> tuple[Pieces, ...]:
        """What the model reads apart: one text, or a text and its translation."""
        return (self,)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of pieces of each of these texts."""
        return tuple(len(side) for side in self.sides)

    @cached_property
    def unit(self) -> NDArray[np.int64]:
        """(piece,) the unit that each piece belongs to: a word or a special token.

        Units are numbered from 0 in text order; a word without pieces is not a unit.
        """
        begins = np.ones(len(self.word), dtype=bool)
        begins[1:] = (self.word[1:] != self.word[:-1]) | (self.word[1:] < 0)
        return np.cumsum(begins) - 1

    @cached_property
    def second(self) -> NDArray[np.bool_]:
        """(piece,) whether the piece is in the second text of a pair; False for special tokens."""
        texts = np.nonzero(~self.special)[0]
        gaps = np.nonzero(np.diff(texts) > 1)[0]  # special tokens separate the texts
        second = np.zeros(len(self.ids), dtype=bool)
        if self.example.is_pair and len(gaps):
            second[texts[gaps[0] + 1 :]] = True
        return second

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """(word,) the unit of each word; -1 if the word has no pieces or was cut off."""
        places = np.full(len(self.words), -1, dtype=np.int64)
        inside = self.word >= 0
        places[self.word[inside]] = self.unit[inside]
        return places

    def words_at(self, units: NDArray[np.int64]) -> NDArray[np.int16]:
        """Word positions of units; -1 for special tokens and for unit -1 (none)."""
        place = self.place
        word = np.full(int(self.unit[-1]) + 2, -1, dtype=np.int16)  # the last entry is for unit -1
        word[place[place >= 0]] = np.nonzero(place >= 0)[0]
        return np.asarray(word[units])


def encode(
    examples: Sequence[Example],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int,
    *,
    target: bool = False,
) -> list[Pieces]:
    """Tokenize examples as the model was trained to see them, truncated to `max_length` pieces.

    Words of a tokenized corpus are split into pieces one by one (Clark et al. 2019, section 4.1),
    so that every piece belongs to exactly one word. `lost` counts what is cut off.

    Args:
        target: whether they are what a decoder says: in another language, for some tokenizers.
    """
    encoded: dict[int, Pieces] = {}
    kinds = [(_is_split(example), example.is_pair) for example in examples]
    for kind in sorted(set(kinds)):  # inputs of one kind can be tokenized in one call
        places = [place for place, other in enumerate(kinds) if other == kind]
        group = [examples[place] for place in places]
        for place, encoding in zip(places, _tokenize(group, tokenizer, None, target), strict=True):
            pieces = _pieces(examples[place], encoding)
            encoded[place] = truncate(tokenizer, pieces, max_length, target=target)
    return [encoded[place] for place in range(len(examples))]


def truncate(
    tokenizer: PreTrainedTokenizerBase, pieces: Pieces, max_length: int, *, target: bool = False
) -> Pieces:
    """Truncate an example to `max_length` pieces, the longer text of a pair first."""
    if len(pieces) <= max_length:
        return pieces
    (encoding,) = _tokenize([pieces.example], tokenizer, max_length, target)
    return _pieces(pieces.example, encoding, lost=len(pieces) - len(encoding.ids))


def _is_split(example: Example) -> bool:
    """Whether the model reads words, and not a text that has these words."""
    return bool(example.words) and not example.text


def _tokenize(
    examples: list[Example],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int | None,
    target: bool,
) -> Sequence[Any]:
    """Encodings of examples of one kind: all words or all raw text, all pairs or all single."""
    split, paired = _is_split(examples[0]), examples[0].is_pair
    spaced = marks_spaces(tokenizer)
    first: list[Any] = [_split(e.words, e.spaces, spaced) if split else e.text for e in examples]
    second: list[Any] = [_split(e.pair_words, (), spaced) if split else e.pair for e in examples]
    if not tokenizer.is_fast:
        if paired:
            raise ModelError("its tokenizer is written in Python, and reads no pairs of texts")
        return encode_slowly(first, tokenizer, max_length, target)
    texts = {"text_target": first} if target else {"text": first}
    if paired:
        texts["text_pair"] = second
    encoded = tokenizer(
        **texts,
        is_split_into_words=split,
        truncation=max_length is not None,
        max_length=max_length,
        padding=False,
        verbose=False,
    )
    return list(encoded.encodings or ())


def _split(words: Sequence[str], spaces: Sequence[bool], spaced: bool) -> list[str]:
    """Words as the tokenizer expects them: for byte-level ones, with the space before them."""
    if not spaced:
        return list(words)
    before = spaces or (True,) * len(words)
    return [
        (" " if place and space else "") + word
        for place, (word, space) in enumerate(zip(words, before, strict=True))
    ]


def marks_spaces(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer is byte-level and expects the space before a word as part of it."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and (
        "ByteLevel" in repr(backend.pre_tokenizer)
        and "add_prefix_space=True" not in repr(backend.pre_tokenizer)
    )


def _pieces(example: Example, encoding: Any, lost: int = 0) -> Pieces:
    first = _words(example.words, example.text, encoding, 0)
    second = _words(example.pair_words, example.pair or "", encoding, 1)
    places = encoding.word_ids
    if example.words and example.text:
        places = _places_in_text(example, encoding)
    word = [
        -1 if place is None or part is None else place + part * len(first)
        for place, part in zip(places, encoding.sequence_ids, strict=True)
    ]
    return Pieces(
        example,
        np.array(encoding.ids, dtype=np.int64),
        np.array(encoding.type_ids, dtype=np.int64),
        np.array(encoding.special_tokens_mask, dtype=bool),
        np.array(word, dtype=np.int64),
        tuple(first + second),
        lost,
    )


def _places_in_text(example: Example, encoding: Any) -> list[int | None]:
    """For each piece of a text the word of the corpus that it begins in; None for specials.

    A piece that is nothing but the mark of a space belongs to the word after it.
    """
    ends, start = [], 0
    for word in example.words:
        found = example.text.find(word, start)
        start = (start if found < 0 else found) + len(word)
        ends.append(start)
    places: list[int | None] = []
    for (begin, end), part in zip(encoding.offsets, encoding.sequence_ids, strict=True):
        if part is None:
            places.append(None)
            continue
        shown = example.text[begin:end]
        first = begin + len(shown) - len(shown.lstrip())
        places.append(min(bisect_right(ends, first), len(ends) - 1))
    return places


def _words(words: Sequence[str], text: str, encoding: Any, part: int) -> list[str]:
    """The words of one text: those of the corpus, or else those of the tokenizer."""
    if words:
        return list(words)
    spans: dict[int, tuple[int, int]] = {}
    for word, sequence, (start, end) in zip(
        encoding.word_ids, encoding.sequence_ids, encoding.offsets, strict=True
    ):
        if word is not None and sequence == part:
            spans[word] = (spans.get(word, (start, end))[0], end)
    return [
        text[slice(*spans[place])].strip() if place in spans else ""
        for place in range(max(spans, default=-1) + 1)
    ]
