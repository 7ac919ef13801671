"""One input of a model with everything that is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

NO_TREE = -2
"""In the place of a syntactic head, where a sentence of a window has no tree."""


class Link(NamedTuple):
    """A link between two words of an example, by position, such as a frame element's."""

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
    """A semantic frame: its target word and its elements as word spans (end exclusive)."""

    name: str
    target: int
    elements: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A text or a pair of texts; `words` where it is split already, `text` where it is not.

    Attributes:
        id: stable within its corpus, whatever the path, the limit or the batching.
        text, pair: raw text, and the second text of a pair (None: no pair).
        words, pair_words: the same, split by the corpus; the annotation is by word position.
        spaces: whether white space precedes each word (empty: before every one).
        document: the document it is part of (None: it stands alone).
        heads: position of each word's syntactic head; -1 for the root (or `NO_TREE`).

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

    @property
    def unit(self) -> str:
        """What is independent of the rest: the document, or the example itself."""
        return self.document if self.document is not None else self.id

    @property
    def is_pair(self) -> bool:
        """Whether the model is to see two texts with a separator between them."""
        return self.pair is not None or bool(self.pair_words)
