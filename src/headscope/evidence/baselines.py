"""The strongest of several simple baselines: what a head must beat to be worth a word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headscope.evidence.tally import Tally


def strongest(baselines: Sequence[Tally]) -> Tally:
    """Of each group, the baseline that is right most often over all documents.

    It is chosen on the very data on which heads are compared with it, which favours it: a head
    that beats it beats every one of them.

    Args:
        baselines: (bucket, layer, head, group) of the same cases.

    >>> ones = np.ones((4, 1, 1, 2))
    >>> near, same = (Tally.of(ones * np.array(part), ones) for part in ([0.3, 0.6], [0.7, 0.2]))
    >>> strongest([near, same]).ratio().ravel().tolist()
    [0.7, 0.6]
    """
    sums, counts = (
        np.stack(parts)
        for parts in zip(*((one.sums, one.counts) for one in baselines), strict=True)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = sums.sum((1, 2, 3)) / counts.sum((1, 2, 3))  # (baseline, group)
    best = np.where(np.isnan(ratios), -np.inf, ratios).argmax(0)
    chosen = (
        np.take_along_axis(part, best[None, None, None, None], axis=0)[0] for part in (sums, counts)
    )
    return Tally.of(*chosen)
