"""What heads that know nothing do: margins from untrained networks, and tests with them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from headscope.evidence import Layout, Null, Statistic, Tally, Unit, head_rows, margins
from headscope.evidence.interval import Margin, difference_test
from headscope.evidence.untrained import REACH, Margins, Reach

BUCKETS, LAYERS, HEADS = 60, 3, 40
LAYOUT = Layout(BUCKETS, LAYERS, HEADS)
TOKENS = 4000.0
"""Of a bucket: so many that every preference of a head is beyond chance."""


def network(
    rng: np.random.Generator, spread: float, *, null: Null | None = None, base: float = 0.2
) -> Statistic:
    """Heads whose log odds of a share differ from the baseline by a normal variable."""
    odds = np.log(base / (1 - base)) + rng.normal(0, spread, (LAYERS, HEADS))
    shares = 1 / (1 + np.exp(-odds))
    counts = np.full((BUCKETS, LAYERS, 1, 1), TOKENS)
    noise = rng.normal(0, np.sqrt(shares * (1 - shares) / TOKENS), (BUCKETS, LAYERS, HEADS))
    tally = Tally.of(((shares + noise) * TOKENS)[..., None], counts)
    return Statistic("mass", tally, Tally.of(counts * base, counts), Unit.SHARE, "", null=null)


def p_values(statistic: Statistic, known: list[Statistic]) -> NDArray[np.float64]:
    """The p-values of its heads, with margins by some untrained networks."""
    chosen = margins([[one] for one in known]) if known else None
    rows = head_rows([statistic], "made", "made", "trained", layout=LAYOUT, margins=chosen)
    return np.array([row.p for row in rows if row.head is not None])


def test_heads_that_know_nothing_are_not_found() -> None:
    """Against a uniform head nearly all are significant; against untrained ones, none."""
    rng = np.random.default_rng(0)
    known = [network(rng, 0.1) for _ in range(2)]
    other = network(rng, 0.1)
    assert (p_values(other, []) < 0.05).mean() > 0.8
    assert (p_values(other, known) < 0.05).mean() <= 0.01


def test_heads_that_know_something_are_found() -> None:
    rng = np.random.default_rng(1)
    known = [network(rng, 0.1) for _ in range(2)]
    assert (p_values(network(rng, 2.0), known) < 0.05).mean() > 0.6


def test_the_margin_is_the_spread_of_heads_without_their_sampling_error() -> None:
    rng = np.random.default_rng(2)
    margin = margins([[network(rng, 0.1)] for _ in range(20)]).of(network(rng, 0.1))
    assert margin.log_odds
    assert float(np.squeeze(margin.above)) == pytest.approx(REACH * 0.1, rel=0.15)
    exact = margins([[network(rng, 0.0)] for _ in range(20)]).of(network(rng, 0.0))
    assert float(np.squeeze(exact.above)) < 0.02


def test_heads_with_a_null_hypothesis_of_their_own_are_compared_with_it() -> None:
    rng = np.random.default_rng(3)
    plain = network(rng, 0.1)
    half = Tally.of(plain.tally.counts * 0.5, plain.tally.counts)
    own = [network(rng, 0.1, null=Null(half, np.zeros((2, LAYERS, HEADS, 1)))) for _ in range(2)]
    margin = margins([[one] for one in own]).of(own[0])
    assert not margin.log_odds  # heads differ in what they would reach by chance
    assert float(np.squeeze(margin.above)) == 0.0
    assert 0.3 < float(np.squeeze(margin.below)) < 0.5


def test_where_uniform_attention_has_all_there_is_differences_count() -> None:
    """The relative entropy of a uniform head is 1, which has no log odds."""
    rng = np.random.default_rng(4)
    counts = np.full((BUCKETS, LAYERS, 1, 1), TOKENS)

    def entropy(lost: float) -> Statistic:
        shares = 1 - np.abs(rng.normal(lost, lost / 10, (BUCKETS, LAYERS, HEADS, 1)))
        return Statistic("entropy", Tally.of(shares * counts, counts), ones, Unit.SHARE, "")

    ones = Tally.of(counts.copy(), counts)
    known = [entropy(0.001), entropy(0.001)]
    assert not margins([[one] for one in known]).of(known[0]).log_odds
    assert (p_values(entropy(0.001), known) < 0.05).mean() < 0.1
    assert (p_values(entropy(0.2), known) < 1e-6).all()


def test_what_no_network_showed_is_not_tested() -> None:
    rng = np.random.default_rng(5)
    statistic = network(rng, 1.0)
    rows = head_rows([statistic], "made", "made", "trained", layout=LAYOUT, margins=margins([]))
    assert {row.p for row in rows} == {None}


def test_what_untrained_heads_reach_is_said_within_what_a_share_can_be() -> None:
    wide = Margins({("mass", None): Reach(False, {"": (0.5, 0.9)})})
    statistic = network(np.random.default_rng(8), 0.1)
    rows = head_rows([statistic], "made", "made", "trained", layout=LAYOUT, margins=wide)
    assert {(row.null_low, row.null_high) for row in rows if row.head is not None} == {(0.0, 1.0)}


def test_a_margin_is_part_of_the_null_hypothesis() -> None:
    """A difference of 0.1 is nothing within a margin of 0.2, and one of 0.3 is something."""
    rng = np.random.default_rng(6)
    counts = np.ones((50, 2))
    other = rng.normal(1.0, 0.05, (50, 2))
    sums = other + rng.normal([0.1, 0.3], 0.05, (50, 2))
    plain = difference_test(sums, counts, other, counts)[1]
    within = difference_test(sums, counts, other, counts, margin=Margin(0.2, 0.2))[1]
    assert (plain < 1e-6).all()
    assert within[0] > 0.99
    assert within[1] < 1e-6


def test_one_rule_chooses_the_error() -> None:
    """The larger of two standard errors counts: of the jackknife, and of the null hypothesis."""
    rng = np.random.default_rng(7)
    counts = np.ones((40, 1))
    sums, other = rng.normal(1.2, 1.0, (40, 1)), np.ones((40, 1))
    alone = difference_test(sums, counts, other, counts)[1]
    smaller = difference_test(sums, counts, other, counts, 1e-3)[1]
    larger = difference_test(sums, counts, other, counts, 10.0)[1]
    assert smaller == pytest.approx(alone)
    assert larger > 0.9
