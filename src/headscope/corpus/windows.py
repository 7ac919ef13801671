"""Windows: whole sentences of a document packed together, for what crosses sentences.

Without overlap, each as full as the limit allows: only what lies inside one window can be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from headscope.corpus.example import NO_TREE, Example, Mention

T = TypeVar("T")


def pack(examples: Iterable[tuple[Example, int]], room: int) -> Iterator[Example]:
    """Join the sentences of each document into windows.

    Args:
        examples: sentences in the order of the corpus, each with its number of pieces.
        room: how many pieces a window may have, specials not counted.

    >>> two = [Example("d-1", words=("Cats", "sleep"), document="d"),
    ...        Example("d-2", words=("They", "dream"), document="d")]
    >>> [one.id for one in pack([(one, 2) for one in two], room=4)]
    ['d-1+1']
    """
    held: list[Example] = []
    pieces = 0
    for example, size in examples:
        follows = bool(held) and example.document is not None
        follows = follows and held[0].document == example.document
        if held and (not follows or pieces + size > room):
            yield join(held)
            held, pieces = [], 0
        held.append(example)
        pieces += size
    if held:
        yield join(held)


def join(sentences: Sequence[Example]) -> Example:
    """Sentences of one document as one text; positions in the annotation move along.

    Frames and links stay behind: they are asked about sentence by sentence.
    """
    first = sentences[0]
    if len(sentences) == 1:
        return first
    starts = [0, *accumulate(len(one.words) for one in sentences)]
    parts = list(zip(sentences, starts, strict=False))
    return replace(
        first,
        id=f"{first.id}+{len(sentences) - 1}",
        words=_all([one.words for one in sentences]),
        spaces=_all([one.spaces or (True,) * len(one.words) for one in sentences]),
        upos=_aligned([one.upos for one in sentences], sentences),
        xpos=_aligned([one.xpos for one in sentences], sentences),
        features=_aligned([one.features for one in sentences], sentences),
        heads=_heads(parts),
        relations=_aligned([one.relations for one in sentences], sentences),
        mentions=tuple(
            Mention(mention.start + start, mention.end + start, mention.chain)
            for one, start in parts
            for mention in one.mentions
        ),
        frames=(),
        links=(),
    )


def _heads(parts: Sequence[tuple[Example, int]]) -> tuple[int, ...]:
    """Syntactic heads; words of a sentence without a tree get `NO_TREE`, unless all are without."""
    if not any(one.heads for one, _ in parts):
        return ()
    moved = [
        tuple(head if head < 0 else head + start for head in one.heads)
        or (NO_TREE,) * len(one.words)
        for one, start in parts
    ]
    return _all(moved)


def _all(parts: Sequence[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(item for part in parts for item in part)


def _aligned(parts: Sequence[tuple[str, ...]], sentences: Sequence[Example]) -> tuple[str, ...]:
    """A column of the annotation; sentences without it get blanks, unless all are without."""
    if not any(parts):
        return ()
    filled = [part or ("_",) * len(one.words) for part, one in zip(parts, sentences, strict=True)]
    return _all(filled)
