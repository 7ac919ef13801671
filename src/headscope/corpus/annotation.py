"""Which annotation an example carries, and how to say that a corpus has none of a kind."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from headscope.corpus.example import Example


class Annotation(StrEnum):
    """What an analysis may need of a corpus, in the words of the message when it is missing."""

    TAGS = "parts of speech"
    TREES = "syntactic heads and relations"
    MENTIONS = "mention chains"
    FRAMES = "semantic frames"
    LINKS = "links between words"


def carried(example: Example) -> Iterator[Annotation]:
    """The kinds of annotation that an example carries.

    >>> [str(kind) for kind in carried(Example("1", upos=("NOUN",), heads=(-1,)))]
    ['parts of speech', 'syntactic heads and relations']
    """
    if example.upos or example.xpos:
        yield Annotation.TAGS
    if example.heads:
        yield Annotation.TREES
    if example.mentions:
        yield Annotation.MENTIONS
    if example.frames:
        yield Annotation.FRAMES
    if example.links:
        yield Annotation.LINKS
