"""Tables of distances between heads, and of the families that they form."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope._util.naming import SELF
from headscope.evidence import Int32, Table


@dataclass(frozen=True)
class Distance:
    """A row of distances.parquet: the mean Jensen-Shannon divergence of two heads, over n rows."""

    corpus: str
    weights: str
    attention: str = field(default=SELF, kw_only=True)
    layer: Int32
    head: Int32
    other_layer: Int32
    other_head: Int32
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Relative:
    """A row of families.parquet: where scaling puts a head, its cluster, its nearest relative."""

    corpus: str
    weights: str
    attention: str = field(default=SELF, kw_only=True)
    layer: Int32
    head: Int32
    x: float
    y: float
    stress: float
    cluster: Int32
    nearest_layer: Int32
    nearest_head: Int32
    distance: float


DISTANCES = Table("distances", Distance)
FAMILIES = Table("families", Relative)
