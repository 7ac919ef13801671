"""Exact Jensen-Shannon divergences between all pairs of heads, one text at a time.

Let s = p + q, and D(p, q) the sum of s log s over all keys and rows. Then

    JS(p, q) = D(p, p) / 4 + D(q, q) / 4 - D(p, q) / 2    (nats, summed over the rows)

so that only sums of s log s are needed, the distance of a head from itself is exactly 0, and keys
without weight contribute nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]

TINY = 1e-30
"""Added to every weight, so that 0 log 0 is practically 0; no other sum changes."""
CHUNK = 1 << 17
"""Elements per step: few enough for the cache of a core, enough to outweigh the loop."""


def divergences(rows: Tensor) -> Floats:
    """(head, head) Jensen-Shannon divergences in nats, summed over rows.

    Args:
        rows: (head, elements) float32, the concatenated rows of a text without padding.

    >>> import torch
    >>> rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> divergences(rows).round(4).tolist()[0]
    [0.0, 0.6931, 0.2158]
    """
    sums = kernel()(rows.contiguous())
    own = np.diagonal(sums)
    return np.asarray((own[:, None] + own[None, :]) / 4 - sums / 2).clip(min=0)


@cache
def kernel() -> Callable[[Tensor], Floats]:
    """The function that sums s log s over all pairs of heads: compiled if `fast` is installed."""
    try:
        from headscope.evidence.compiled import pair_sums
    except ImportError:
        return plain_sums
    return pair_sums


def plain_sums(rows: Tensor) -> Floats:
    """(head, head) sums of s log s, by torch."""
    heads, elements = rows.shape
    sums = np.zeros((heads, heads))
    rows = rows + TINY
    step = max(1, CHUNK // heads)
    for start in range(0, elements, step):
        part = rows[:, start : start + step].contiguous()
        for head in range(heads):
            both = part[head:] + part[head]
            sums[head, head:] += both.log().mul_(both).sum(1).double().cpu().numpy()
    return np.asarray(np.triu(sums) + np.triu(sums, 1).T)
