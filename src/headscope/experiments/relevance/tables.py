"""What a relevance run writes besides its numbers per head: where the score goes in every layer."""

from __future__ import annotations

from dataclasses import dataclass, field

from headscope._util.naming import SELF
from headscope.runs import RunResults


@dataclass(frozen=True)
class ScoreParts:
    """Where the score goes at one layer, as shares of it; they sum to 1 but for what is lost.

    Attributes:
        heads: through the heads; residual: past them, on the residual path.
        biases, epsilon: absorbed above the layer, by biases and by the stabiliser.
        lost: what is missing, relative to the largest part: an error of computation.
        elsewhere: of an encoder, what stays in the decoder; of a decoder, what has left for the
            encoder above the layer.
    """

    attention: str = field(default=SELF, kw_only=True)
    layer: int
    heads: float
    residual: float
    biases: float
    epsilon: float
    lost: float
    elsewhere: float = 0.0


@dataclass(frozen=True)
class RelevanceSummary:
    """What a relevance run has to say besides its numbers per head.

    Attributes:
        counted: layer by layer, where the score goes.
    """

    counted: list[ScoreParts]


def score_parts(results: RunResults) -> list[ScoreParts]:
    """Where the score goes, layer by layer; nothing for a run of another experiment."""
    if "counted" not in results.record.summary:
        return []
    return results.record.summary_as(RelevanceSummary).counted
