"""Where a model attends, and whose queries look at whose keys."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Whose queries look at whose keys."""

    ENCODER = "encoder"  # a text at itself, in both directions
    DECODER = "decoder"  # a text at itself, each token at what precedes it
    CROSS = "cross"  # a decoder's text at the encoder's


SELF = frozenset({Kind.ENCODER, Kind.DECODER})
"""The kinds in which a text looks at itself."""
ANY = frozenset(Kind)
"""All kinds of attention."""


@dataclass(frozen=True)
class Site:
    """A place in a model that attends.

    Attributes:
        kind: whose queries look at whose keys there.
        layer: the block of its stack, counted from 0.
        place: its number among the sites of its kind (hybrid models have blocks that do not
            attend, so that `layer` may skip numbers).
        heads: how many heads it has.

    >>> Site(Kind.ENCODER, layer=3, place=3, heads=12).name
    'encoder 3'
    """

    kind: Kind
    layer: int
    place: int
    heads: int

    @property
    def name(self) -> str:
        """Kind and layer, as messages write them."""
        return f"{self.kind} {self.layer}"
