"""How often 95% intervals of rank correlations over heads cover the truth, where layers differ.

    python -m bench.correlations [--draws 1000]

Two numbers of every head are drawn from a normal distribution with a known correlation, so that a
share of the variance of both lies between layers. Printed for each number of layers: how often the
interval over heads (a bootstrap of single heads, as headscope had before) and the interval over
layers (`rank_correlation`) cover Spearman's correlation, and how wide they are (medians).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from headscope.evidence.correlation import rank_correlation

Floats = NDArray[np.float64]

LAYERS = (3, 4, 5, 6, 12, 24)
"""Those with too few layers for an interval show why it is not given."""
HEADS = 12
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9)
"""Of the variance, between layers."""
TRUTHS = (0.0, 0.3, 0.6)
"""Pearson's correlation of the normal distribution."""
RESAMPLES = 200
"""Of the bootstrap over heads."""


@dataclass(frozen=True)
class Intervals:
    """Intervals of one kind: how often they cover the truth, and their median width."""

    coverage: float
    width: float

    @classmethod
    def of(cls, bounds: Floats, truth: float) -> Intervals:
        """From (draw, low or high)."""
        low, high = bounds.T
        return cls(float(np.mean((low <= truth) & (truth <= high))), float(np.median(high - low)))


def simulate(
    layers: int, share: float, truth: float, draws: int, seed: int = 0
) -> tuple[Intervals, Intervals]:
    """Intervals over heads and intervals over layers of the same draws."""
    rng = np.random.default_rng(seed)
    layer = np.repeat(np.arange(layers), HEADS)
    over_heads, over_layers = [], []
    for _ in range(draws):
        x, y = _heads(rng, layers, share, truth)
        over_heads.append(_bootstrap(rng, x, y))
        found = rank_correlation(x, y, layer, min_layers=layers)
        assert found is not None
        over_layers.append((found.low, found.high))
    spearman = 6 / np.pi * np.arcsin(truth / 2)  # of a normal distribution
    return (
        Intervals.of(np.array(over_heads), spearman),
        Intervals.of(np.array(over_layers, float), spearman),
    )


def _heads(
    rng: np.random.Generator, layers: int, share: float, truth: float
) -> tuple[Floats, Floats]:
    """Two numbers of every head, (head,) each."""
    covariance = [[1, truth], [truth, 1]]
    between = rng.multivariate_normal([0, 0], covariance, layers)
    within = rng.multivariate_normal([0, 0], covariance, (layers, HEADS))
    both = np.sqrt(share) * between[:, None] + np.sqrt(1 - share) * within
    x, y = both.reshape(-1, 2).T
    return x, y


def _bootstrap(rng: np.random.Generator, x: Floats, y: Floats) -> tuple[float, float]:
    """The interval of a bootstrap of single heads."""
    drawn = rng.integers(0, len(x), (RESAMPLES, len(x)))
    ranks = (stats.rankdata(side[drawn], axis=1) for side in (x, y))
    first, second = (side - side.mean(1, keepdims=True) for side in ranks)
    size = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    low, high = np.quantile((first * second).sum(1) / size, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    print("layers between correlation   over heads: coverage  width   over layers: coverage  width")
    for layers, share, truth in product(LAYERS, SHARES, TRUTHS):
        heads, by_layer = simulate(layers, share, truth, draws)
        print(
            f"{layers:6} {share:7.0%} {truth:11.1f} {heads.coverage:22.1%} {heads.width:6.2f} "
            f"{by_layer.coverage:23.1%} {by_layer.width:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
