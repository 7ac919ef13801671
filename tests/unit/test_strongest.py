"""The strongest baseline, what is undecided, and which corpora can be compared."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.evidence import HeadRow, Layout, Null, Statistic, Tally, Unit, best_rows, head_rows
from headscope.evidence.baselines import strongest
from headscope.evidence.few_cases import MIN_CASES, undecided
from headscope.report.seen_again import same_labels

BUCKETS, HEADS = 40, 3
LAYOUT = Layout(BUCKETS, 1, HEADS)
CASES = 50.0
FEW = 0.05


def tally(shares: list[list[float]], rng: np.random.Generator) -> Tally:
    """(head, group) shares of right answers, with binomial noise in every bucket."""
    draws = rng.binomial(int(CASES), np.array(shares), (BUCKETS, 1, *np.shape(shares)))
    counts = np.full((BUCKETS, 1, 1, np.shape(shares)[1]), CASES)
    return Tally.of(draws.astype(float), counts)


def test_every_group_has_its_own_strongest_baseline() -> None:
    rng = np.random.default_rng(0)
    near, same = tally([[0.3, 0.7]], rng), tally([[0.6, 0.2]], rng)
    best = strongest([near, same])
    np.testing.assert_array_equal(best.sums[..., 0], same.sums[..., 0])
    np.testing.assert_array_equal(best.sums[..., 1], near.sums[..., 1])
    assert (best.ratio() >= near.ratio()).all()
    assert (best.ratio() >= same.ratio()).all()


def test_the_empty_group_of_a_baseline_is_not_the_strongest() -> None:
    rng = np.random.default_rng(1)
    empty = Tally.of(np.zeros((BUCKETS, 1, 1, 1)), np.zeros((BUCKETS, 1, 1, 1)))
    known = tally([[0.2]], rng)
    np.testing.assert_array_equal(strongest([empty, known]).sums, known.sums)


def test_a_head_between_the_baselines_beats_the_weaker_only() -> None:
    """60% where the nearest is right in 30% and the sieve in 75%: no finding."""
    rng = np.random.default_rng(2)
    hits = tally([[0.6], [0.3], [0.85]], rng)
    near, sieve = tally([[0.3]], rng), tally([[0.75]], rng)

    def sure(baseline: Tally) -> list[bool]:
        null = Null(baseline, np.zeros((2, *hits.sums.shape[1:])))
        one = Statistic("accuracy", hits, baseline, Unit.SHARE, "", null=null)
        rows = head_rows([one], "made", "made", "trained", layout=LAYOUT)
        (best,) = best_rows([one], "made", "made", "trained", layout=LAYOUT)
        assert best.place == (0, 2)
        assert best.sure
        assert best.baseline == pytest.approx(float(baseline.ratio().item()))
        return [row.sure for row in rows if row.head is not None]

    assert sure(near) == [True, False, True]
    assert sure(strongest([near, sieve])) == [False, False, True]


def gain(
    value: float,
    low: float | None,
    high: float | None,
    *,
    n: int = 400,
    q: float = 0.5,
    null_high: float | None = None,
) -> HeadRow:
    return HeadRow(
        corpus="made",
        weights="trained",
        analysis="made",
        statistic="gain",
        group="all",
        direction=None,
        layer=0,
        head=0,
        value=value,
        low=low,
        high=high,
        n=n,
        baseline=0.0,
        p=q,
        q=q,
        null_high=null_high,
    )


def test_what_the_data_could_not_have_shown_is_undecided() -> None:
    assert undecided(gain(0.02, -0.04, 0.08), FEW)
    assert not undecided(gain(-0.12, -0.15, -0.10), FEW)  # surely no better
    assert not undecided(gain(0.01, -0.01, 0.03), FEW)  # at most a little better
    assert undecided(gain(-0.12, None, None), FEW)  # too few documents
    assert undecided(gain(-0.12, -0.15, -0.10, n=MIN_CASES - 1), FEW)
    assert not undecided(gain(0.2, 0.1, 0.3, q=0.01), FEW)  # found
    assert not undecided(gain(0.02, -0.04, 0.08, null_high=0.2), FEW)  # as untrained heads do


def test_schemes_with_other_labels_are_not_compared() -> None:
    universal = {"punct": 30, "case": 20, "nsubj": 20, "obl": 15, "obj": 15}
    stanford = {"punct": 30, "prep": 15, "pobj": 15, "nsubj": 20, "dobj": 15}
    assert same_labels(universal, universal | {"list": 10})
    assert not same_labels(universal, stanford)
    assert not same_labels(universal, {})
