"""Words and pieces: what the tokenizer makes of an example, and whose piece is whose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from headscope.corpus.example import Example

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerBase

Result = TypeVar("Result")


@dataclass(frozen=True)
class Pieces:
    """One example as the model sees it.

    Attributes:
        ids, segments, special: (piece,) input ids, segment ids, whether the piece is a special.
        word: (piece,) position of the piece's word in `words`; -1 for specials.
        words: the words of both texts, in order; a word may have no piece at all.
        lost: how many pieces were cut off.
    """

    example: Example
    ids: NDArray[np.int64]
    segments: NDArray[np.int64]
    special: NDArray[np.bool_]
    word: NDArray[np.int64]
    words: tuple[str, ...]
    lost: int = 0
    _known: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: object, compute: Callable[[Example], Result]) -> Result:
        """What depends on the example alone: computed for whoever asks first, kept for others."""
        if key not in self._known:
            self._known[key] = compute(self.example)
        return cast(Result, self._known[key])

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def unit(self) -> NDArray[np.int64]:
        """(piece,) which unit each piece is part of: a word, or a special by itself.

        Units are counted from 0 in the order of the text; a word without pieces is none.
        """
        begins = np.ones(len(self.word), dtype=bool)
        begins[1:] = (self.word[1:] != self.word[:-1]) | (self.word[1:] < 0)
        return np.cumsum(begins) - 1

    @cached_property
    def second(self) -> NDArray[np.bool_]:
        """(piece,) whether the piece is of the second text of a pair; False for specials."""
        texts = np.nonzero(~self.special)[0]
        gaps = np.nonzero(np.diff(texts) > 1)[0]  # specials stand between the texts
        found = np.zeros(len(self.ids), dtype=bool)
        if self.example.is_pair and len(gaps):
            found[texts[gaps[0] + 1 :]] = True
        return found

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """(word,) the unit of each word; -1 where the word has no pieces or was cut off."""
        places = np.full(len(self.words), -1, dtype=np.int64)
        inside = self.word >= 0
        places[self.word[inside]] = self.unit[inside]
        return places

    def words_at(self, units: NDArray[np.int64]) -> NDArray[np.int16]:
        """Positions of words, given by unit; -1 (no unit) and specials give -1."""
        place = self.place
        word = np.full(int(self.unit[-1]) + 2, -1, dtype=np.int16)  # the last one for unit -1
        word[place[place >= 0]] = np.nonzero(place >= 0)[0]
        return np.asarray(word[units])


def encode(
    examples: Sequence[Example], tokenizer: PreTrainedTokenizerBase, max_length: int
) -> list[Pieces]:
    """Tokenize examples as the model was trained to see them, cut to `max_length` pieces.

    Split words are tokenized one by one (Clark et al. 2019, section 4.1), so that every piece
    belongs to exactly one word. What is cut off is counted in `lost`.
    """
    made: dict[int, Pieces] = {}
    kinds = [(bool(example.words), example.is_pair) for example in examples]
    for kind in sorted(set(kinds)):  # texts of one kind are tokenized together
        places = [place for place, other in enumerate(kinds) if other == kind]
        group = [examples[place] for place in places]
        for place, encoding in zip(places, _tokenize(group, tokenizer), strict=True):
            made[place] = cut(tokenizer, _pieces(examples[place], encoding), max_length)
    return [made[place] for place in range(len(examples))]


def cut(tokenizer: PreTrainedTokenizerBase, pieces: Pieces, max_length: int) -> Pieces:
    """The example with at most `max_length` pieces: the longer text of a pair is cut first."""
    if len(pieces) <= max_length:
        return pieces
    (short,) = _tokenize([pieces.example], tokenizer, max_length)
    return _pieces(pieces.example, short, lost=len(pieces) - len(short.ids))


def _tokenize(
    examples: list[Example], tokenizer: PreTrainedTokenizerBase, max_length: int | None = None
) -> list[Any]:
    """Encodings of examples that are all of one kind (split or not, paired or not)."""
    split, paired = bool(examples[0].words), examples[0].is_pair
    spaced = marks_spaces(tokenizer)
    first: list[Any] = [_split(e.words, e.spaces, spaced) if split else e.text for e in examples]
    second: list[Any] = [_split(e.pair_words, (), spaced) if split else e.pair for e in examples]
    encoded = tokenizer(
        first,
        second if paired else None,
        is_split_into_words=split,
        truncation=max_length is not None,
        max_length=max_length,
        padding=False,
        verbose=False,
    )
    return list(encoded.encodings or ())


def _split(words: Sequence[str], spaces: Sequence[bool], spaced: bool) -> list[str]:
    """Words as the tokenizer wants them: byte-level ones carry the space before a word in it."""
    if not spaced:
        return list(words)
    before = spaces or (True,) * len(words)
    return [
        (" " if place and space else "") + word
        for place, (word, space) in enumerate(zip(words, before, strict=True))
    ]


def marks_spaces(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer is byte-level and leaves the space before a word to the caller."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and (
        "ByteLevel" in repr(backend.pre_tokenizer)
        and "add_prefix_space=True" not in repr(backend.pre_tokenizer)
    )


def _pieces(example: Example, encoding: Any, lost: int = 0) -> Pieces:
    first = _words(example.words, example.text, encoding, 0)
    second = _words(example.pair_words, example.pair or "", encoding, 1)
    word = [
        -1 if place is None or part is None else place + part * len(first)
        for place, part in zip(encoding.word_ids, encoding.sequence_ids, strict=True)
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


def _words(words: Sequence[str], text: str, encoding: Any, part: int) -> list[str]:
    """The words of one text: the corpus's own, else the tokenizer's, cut out of the text."""
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
