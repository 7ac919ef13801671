"""Rank correlations over heads: the layers of a network, not its heads, vary independently."""

from __future__ import annotations

import numpy as np
import pytest
from bench.correlations import simulate
from scipy import stats

from headscope.evidence.correlation import MIN_LAYERS, rank_correlation

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("layers", "share"), [(6, 0.5), (12, 0.0), (12, 0.5), (12, 0.75)])
def test_intervals_over_layers_cover_the_truth(layers: int, share: float) -> None:
    """95% are the aim; those over heads cover as many only where layers are alike."""
    over_heads, over_layers = simulate(layers, share, 0.3, draws=400)
    assert 0.93 <= over_layers.coverage <= 0.985
    if share:
        assert over_heads.coverage < 0.80
        assert over_layers.width > over_heads.width


def test_an_interval_is_a_jackknife_of_layers_on_fishers_z() -> None:
    layers = RNG.permutation(np.repeat(np.arange(7), 5))
    x, y = RNG.normal(size=(2, 35))
    found = rank_correlation(x, y, layers)
    assert found is not None
    z = np.arctanh(stats.spearmanr(x, y).statistic)
    rest = [layers != layer for layer in range(7)]
    without = np.arctanh([stats.spearmanr(x[kept], y[kept]).statistic for kept in rest])
    error = np.sqrt(6 / 7 * np.sum((without - without.mean()) ** 2))
    half_width = stats.t(6).ppf(0.975) * error
    assert found.value == pytest.approx(np.tanh(z))
    assert (found.low, found.high) == pytest.approx(
        (np.tanh(z - half_width), np.tanh(z + half_width))
    )


def test_layers_are_told_apart_by_name_and_heads_may_come_in_any_order() -> None:
    x, y = RNG.normal(size=(2, 24))
    layers, stacks = np.repeat(np.arange(3), 8), np.tile(["encoder", "decoder"], 12)
    both = [f"{stack} {layer}" for stack, layer in zip(stacks, layers, strict=True)]
    together, apart = (rank_correlation(x, y, names) for names in (layers, both))
    assert together is not None
    assert apart is not None
    assert (together.layers, apart.layers) == (3, 6)
    assert together.low is None
    assert apart.low is not None
    order = RNG.permutation(24)
    assert rank_correlation(x[order], y[order], np.array(both)[order]) == apart


def test_without_an_interval_the_text_says_why() -> None:
    x, y = RNG.normal(size=(2, 4 * MIN_LAYERS))
    few = rank_correlation(x, y, np.arange(len(x)) % (MIN_LAYERS - 1))
    assert few is not None
    assert "no interval: fewer than 6 layers" in str(few)
    assert not few.sure
    layers = np.repeat(np.arange(MIN_LAYERS), 4)
    x[4:] = 0.0
    alone = rank_correlation(x, y, layers)
    assert alone is not None
    assert "no interval: heads of one layer alone differ" in str(alone)
    assert not alone.sure


def test_equal_rankings_correlate_surely() -> None:
    layers, x = np.repeat(np.arange(MIN_LAYERS), 4), np.arange(4.0 * MIN_LAYERS)
    for y, value in ((x, 1.0), (-x, -1.0)):
        found = rank_correlation(x, y, layers)
        assert found is not None
        assert found[:3] == (value, value, value)
        assert found.sure


def test_where_nothing_varies_nothing_is_said() -> None:
    layers, x = np.repeat(np.arange(MIN_LAYERS), 4), np.arange(4.0 * MIN_LAYERS)
    assert rank_correlation(x, np.full(len(x), 0.1), layers) is None
    assert rank_correlation(x[:0], x[:0], layers[:0]) is None
