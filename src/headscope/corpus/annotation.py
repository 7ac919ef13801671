"""Kinds of annotation that an example can carry."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from headscope.corpus.example import Example


class Annotation(StrEnum):
    """A kind of annotation; the value names it in messages."""

    TAGS = "parts of speech"
    TREES = "syntactic heads and relations"
    MENTIONS = "mention chains"
    FRAMES = "semantic frames"
    LINKS = "links between words"
    ALIGNMENT = "word alignments"


def annotation_of(example: Example) -> Iterator[Annotation]:
    """The kinds of annotation that an example carries.

    >>> [str(kind) for kind in annotation_of(Example("1", upos=("NOUN",), heads=(-1,)))]
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
    if example.alignment:
        yield Annotation.ALIGNMENT
