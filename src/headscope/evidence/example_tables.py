"""Tables of real texts: attention maps to look at, and arcs that heads draw on words."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.evidence.table import Int32, Table


@dataclass(frozen=True)
class MapRow:
    """The map of one head on one text.

    Attributes:
        map: uint8 (query, key), 255 for a weight of 1.
        shape, probability: the likeliest label of the map, where an analysis gave it one.
    """

    corpus: str
    weights: str
    example: str
    layer: Int32
    head: Int32
    tokens: list[str]
    map: bytes
    shape: str | None
    probability: float | None


@dataclass(frozen=True)
class ArcsRow:
    """What a best head does on one annotated text.

    Attributes:
        source: the words asked about; gold: what the annotation links each to.
        drawn: the words that the head chooses (-1: none, or none that is shown); right: whether
            that agrees with the annotation.
    """

    corpus: str
    weights: str
    analysis: str
    statistic: str
    group: str | None
    direction: str | None
    layer: Int32
    head: Int32
    example: str
    words: list[str]
    source: list[Int32]
    gold: list[list[Int32]]
    drawn: list[Int32]
    right: list[bool]


MAPS = Table("maps", MapRow)
ARCS = Table("arcs", ArcsRow)
