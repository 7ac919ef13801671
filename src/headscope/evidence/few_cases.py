"""Whether a corpus is too small to say that no head does something."""

from __future__ import annotations

from headscope.evidence.head_table import HeadRow

MIN_CASES = 100
"""With fewer cases nothing is said to be absent, and nothing is looked for again."""


def beats(gain: HeadRow) -> bool:
    """Whether a gain over a baseline passes its test, and all of its interval is a gain."""
    return gain.sure and gain.low is not None and gain.low > 0


def undecided(gain: HeadRow, meaningful: float) -> bool:
    """Whether a head that passed no test may still be better than its baseline by enough to matter.

    That is so with too few cases or documents, and where the interval reaches a gain that would
    matter and that heads of untrained networks do not reach.

    Args:
        gain: what the best head gains over the baseline.
        meaningful: the least gain that would give the head a role.
    """
    if beats(gain):
        return False
    if gain.n < MIN_CASES or gain.high is None:
        return True
    return gain.high >= max(meaningful, gain.null_high or 0.0)
