"""Shares as people write them."""

from __future__ import annotations

import math


def parse_share(text: str) -> float:
    """A share, written `0.5%` or `0.005`; a ValueError for anything else.

    >>> parse_share("0.5%"), parse_share("0.6")
    (0.005, 0.6)
    """
    value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
