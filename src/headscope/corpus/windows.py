"""Windows: consecutive sentences of a document as one input, for relations across sentences.

Windows do not overlap, and each is as long as the limit allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from headscope.corpus.example import NO_TREE, Example, Mention

T = TypeVar("T")


def pack(examples: Iterable[tuple[Example, int]], room: int) -> Iterator[Example]:
    """Pack the sentences of each document into windows.

    Args:
        examples: sentences in corpus order, each with its number of pieces.
        room: maximum number of pieces of a window, without special tokens.

    >>> sentences = [Example("d-1", words=("Cats", "sleep"), document="d"),
    ...              Example("d-2", words=("They", "dream"), document="d")]
    >>> [window.id for window in pack([(sentence, 2) for sentence in sentences], room=4)]
    ['d-1+1']
    """
    window: list[Example] = []
    pieces = 0
    for example, size in examples:
        same = bool(window) and example.document is not None
        same = same and window[0].document == example.document
        if window and (not same or pieces + size > room):
            yield join_sentences(window)
            window, pieces = [], 0
        window.append(example)
        pieces += size
    if window:
        yield join_sentences(window)


def join_sentences(sentences: Sequence[Example]) -> Example:
    """Join sentences of one document; positions in the annotation are shifted accordingly.

    Frames and links are dropped: they are analysed sentence by sentence.
    """
    first = sentences[0]
    if len(sentences) == 1:
        return first
    starts = [0, *accumulate(len(sentence.words) for sentence in sentences)]
    parts = list(zip(sentences, starts, strict=False))
    return replace(
        first,
        id=f"{first.id}+{len(sentences) - 1}",
        words=_concatenate([sentence.words for sentence in sentences]),
        spaces=_concatenate([s.spaces or (True,) * len(s.words) for s in sentences]),
        upos=_column([sentence.upos for sentence in sentences], sentences),
        xpos=_column([sentence.xpos for sentence in sentences], sentences),
        features=_column([sentence.features for sentence in sentences], sentences),
        heads=_heads(parts),
        relations=_column([sentence.relations for sentence in sentences], sentences),
        mentions=tuple(
            Mention(mention.start + start, mention.end + start, mention.chain)
            for sentence, start in parts
            for mention in sentence.mentions
        ),
        frames=(),
        links=(),
    )


def _heads(parts: Sequence[tuple[Example, int]]) -> tuple[int, ...]:
    """Shifted heads; `NO_TREE` in sentences without a tree, empty if no sentence has one."""
    if not any(sentence.heads for sentence, _ in parts):
        return ()
    shifted = [
        tuple(head if head < 0 else head + start for head in sentence.heads)
        or (NO_TREE,) * len(sentence.words)
        for sentence, start in parts
    ]
    return _concatenate(shifted)


def _concatenate(parts: Sequence[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(item for part in parts for item in part)


def _column(parts: Sequence[tuple[str, ...]], sentences: Sequence[Example]) -> tuple[str, ...]:
    """A column of annotation; `_` in sentences without it, empty if no sentence has it."""
    if not any(parts):
        return ()
    pairs = zip(parts, sentences, strict=True)
    return _concatenate([part or ("_",) * len(sentence.words) for part, sentence in pairs])
