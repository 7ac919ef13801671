"""Examples: the inputs of a model with their annotation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

NO_TREE = -2
"""The syntactic head of each word of a sentence without a tree, inside a window with trees."""


SURE, POSSIBLE = "sure", "possible"
"""Labels of links between a text and its translation."""


class Link(NamedTuple):
    """A labelled link between two words of an example, by position."""

    source: int
    target: int
    label: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of an entity: words `start` to `end` (exclusive), in the chain `chain`."""

    start: int
    end: int
    chain: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A semantic frame: its target word, and its elements as (name, start, end exclusive)."""

    name: str
    target: int
    elements: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A text or a pair of texts: `words` if the corpus is tokenized, `text` otherwise.

    With both, `words` are those of `text`, in order: the model reads the text. Annotation refers to
    words by position; what the corpus does not annotate stays empty.

    Attributes:
        id: unique in the corpus; independent of the path, the limit and the batching.
        text, pair: raw text, and the second text of a pair (None: a single text).
        words, pair_words: the words of the two texts.
        spaces: whether white space precedes each word (empty: before every word).
        document: id of the document that it is part of (None: it stands alone).
        upos, xpos: universal and treebank-specific part-of-speech tags.
        features: morphological features of each word, as CoNLL-U writes them.
        heads: position of each word's syntactic head; -1 for the root (or `NO_TREE`).
        relations: each word's relation to its head.
        label: class or score, as the corpus writes it.
        translation: the same in another language, which a model with a decoder is to say.
        alignment: links from words of this text to words of the translation, `SURE` or `POSSIBLE`.

    >>> Example("s1", words=("Cats", "sleep"), heads=(1, -1)).unit
    's1'
    """

    id: str
    text: str = ""
    pair: str | None = None
    words: tuple[str, ...] = ()
    pair_words: tuple[str, ...] = ()
    spaces: tuple[bool, ...] = ()
    document: str | None = None
    upos: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()
    relations: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    frames: tuple[Frame, ...] = ()
    links: tuple[Link, ...] = ()
    label: str | None = field(default=None)
    translation: Example | None = None
    alignment: tuple[Link, ...] = ()

    @property
    def unit(self) -> str:
        """The independent unit of evidence: the document, or else the example itself."""
        return self.document if self.document is not None else self.id

    @property
    def is_pair(self) -> bool:
        """Whether the model sees two texts with a separator between them, in one input."""
        return self.pair is not None or bool(self.pair_words)
