"""Tallies add up, intervals cover, choices are cross-fitted, exemplars merge to one choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from headscope.corpus import BUCKETS, bucket_of
from headscope.evidence import (
    Exemplar,
    Exemplars,
    Layout,
    ShardResult,
    Statistic,
    Tally,
    Unit,
    estimate,
)
from headscope.evidence.interval import benjamini_hochberg, difference_test
from headscope.evidence.rows import best_rows, crossfit, head_rows

Floats = NDArray[np.float64]
SHAPE = Layout(8, 2, 3)


def summed(place: NDArray[np.int64], values: NDArray[Any], size: int) -> Floats:
    return np.bincount(place, values, size).astype(np.float64)


def tally_of(numbers: list[float], buckets: list[int]) -> Tally:
    tally = Tally(SHAPE)
    for number, bucket in zip(numbers, buckets, strict=True):
        for layer in range(SHAPE.layers):
            sums = torch.full((1, SHAPE.heads, 1), number)
            tally.add(layer, sums, torch.ones(1, 1, 1), torch.tensor([bucket]))
    return tally


@given(st.lists(st.tuples(st.floats(-9, 9, width=32), st.integers(0, 7)), min_size=1, max_size=20))
def test_tallies_of_two_shards_add_up(items: list[tuple[float, int]]) -> None:
    numbers, buckets = [n for n, _ in items], [b for _, b in items]
    whole, half = tally_of(numbers, buckets), len(items) // 2
    first = tally_of(numbers[:half], buckets[:half])
    first.merge(tally_of(numbers[half:], buckets[half:]))
    np.testing.assert_allclose(first.sums, whole.sums, atol=1e-12)
    np.testing.assert_array_equal(first.counts, whole.counts)
    assert whole.sums.dtype == np.float64
    np.testing.assert_allclose(whole.ratio()[1, 2, 0], np.mean(numbers), atol=1e-9)


def documents(
    rng: np.random.Generator, count: int, rate: float, spread: float
) -> tuple[Floats, Floats]:
    """Sums and counts a document: tokens of a sentence and sentences of a document are alike."""
    sentences = rng.integers(2, 16, count)
    document = np.repeat(np.arange(count), sentences)
    level = np.log(rate / (1 - rate)) + rng.normal(0, spread, count)[document]
    level += rng.normal(0, spread / 2, len(document))
    tokens = rng.integers(5, 24, len(document))
    hits = rng.binomial(tokens, 1 / (1 + np.exp(-level)))
    return summed(document, hits, count), summed(document, tokens, count)


@pytest.mark.parametrize(
    ("count", "rate", "least", "most"),
    [
        (200, 0.3, 0.93, 0.97),
        (200, 0.7, 0.93, 0.97),
        (200, 0.97, 0.925, 0.975),
        (50, 0.3, 0.90, 1),
        (12, 0.3, 0.90, 1),
        (12, 0.97, 0.90, 1),
        (20, 0.97, 0.90, 1),
        (50, 0.99, 0.90, 1),
    ],
)
def test_intervals_cover(count: int, rate: float, least: float, most: float) -> None:
    """95% intervals hold the truth about as often as they say, with documents hashed to buckets."""
    rng = np.random.default_rng(7)
    hits, tokens = documents(rng, 100_000, rate, 0.6)
    truth = hits.sum() / tokens.sum()
    covered = []
    for _ in range(1000):
        hits, tokens = documents(rng, count, rate, 0.6)
        bucket = rng.integers(0, BUCKETS, count)
        sums = summed(bucket, hits, BUCKETS)
        found = estimate(sums, summed(bucket, tokens, BUCKETS), share=True)
        if not np.isnan(found.low):
            covered.append(found.low <= truth <= found.high)
    assert len(covered) > 833
    assert least <= np.mean(covered) <= most


def test_means_that_are_no_shares_are_covered_too() -> None:
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(3000):
        size = rng.integers(1, 20, 200)
        level = rng.normal(2.5, 0.5, 200)
        bucket = rng.integers(0, BUCKETS, 200)
        sums = summed(bucket, size * level + rng.normal(0, np.sqrt(size)), BUCKETS)
        found = estimate(sums, summed(bucket, size, BUCKETS), share=False)
        covered.append(found.low <= 2.5 <= found.high)
    assert 0.93 <= np.mean(covered) <= 0.97


def test_too_few_documents_claim_no_interval() -> None:
    counts = np.zeros(BUCKETS)
    counts[:9] = 5
    found = estimate(counts * 0.5, counts, share=True)
    assert found.value == 0.5
    assert np.isnan(found.low)
    assert np.isnan(difference_test(counts * 0.5, counts, counts * 0.1, counts)[1])


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_unanimous_cases_still_have_an_interval(value: float) -> None:
    counts = np.full(30, 4.0)
    found = estimate(counts * value, counts, share=True)
    assert found.high - found.low == pytest.approx(1 - 0.025 ** (1 / 30))
    assert found.low <= value <= found.high


@settings(max_examples=40)
@given(st.integers(10, 60), st.floats(0.001, 0.999), st.integers(0, 99))
def test_intervals_of_shares_stay_inside(count: int, rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 30, count).astype(np.float64)
    found = estimate(rng.binomial(counts.astype(int), rate).astype(float), counts, share=True)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_p_values_are_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(5)
    sums = rng.normal(0, 1, (60, 4000)) + 3
    others = rng.normal(0, 1, (60, 4000)) + 3
    ones = np.ones_like(sums)
    p = difference_test(sums, ones, others, ones)[1]
    for bound in (0.01, 0.05, 0.5):
        assert np.mean(p < bound) == pytest.approx(bound, abs=0.02)
    assert (benjamini_hochberg(p) < 0.05).sum() <= 3


@pytest.mark.parametrize("documents", [12, 60, 200])
@pytest.mark.parametrize("cases", [2, 20])
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("alike", [0.0, 0.1])
def test_tests_of_shares_find_nothing_where_nothing_is(
    documents: int, cases: int, rate: float, alike: float
) -> None:
    """At most 5% of p-values are below .05 under the null hypothesis, within the error of 4,000
    draws, whether cases are independent or alike within a document: one rule serves for both.

    The limit of the method: cases that are alike in few documents bring up to 1.5% of p-values
    below .01, and a one-sided test of a rate near 1 up to 8% below .05.
    """
    rng = np.random.default_rng(13)
    draws, scale = (documents, 4000), 1 / alike - 1 if alike else np.inf
    number = rng.integers(1, 2 * cases, draws)
    rates = rng.beta(scale * rate, scale * (1 - rate), draws) if alike else np.full(draws, rate)
    sums, counts = rng.binomial(number, rates).astype(np.float64), number.astype(np.float64)
    error = np.sqrt(rate * (1 - rate) / counts.sum(0))
    for above in (False, True):
        _, p = difference_test(sums, counts, counts * rate, counts, error, above=above, share=True)
        hard = above and alike and rate == 0.9
        assert np.mean(p < 0.05) < (0.085 if hard else 0.06)
        assert np.mean(p < 0.01) < (0.02 if alike else 0.012)


def test_choosing_the_best_of_many_noise_heads_brings_no_luck() -> None:
    """Twenty heads that are all alike: the best one looks good, cross-fitted it does not."""
    rng = np.random.default_rng(11)
    naive, honest = [], []
    for _ in range(200):
        counts = np.full((BUCKETS, 20, 1), 5.0)
        sums = rng.binomial(5, 0.3, counts.shape).astype(float)
        naive.append((sums.sum(0) / counts.sum(0)).max())
        chosen = crossfit(sums, sums, counts)
        honest.append(chosen.sum() / crossfit(counts, sums, counts).sum())
    assert np.mean(naive) > 0.32
    assert np.mean(honest) == pytest.approx(0.3, abs=0.004)


def test_rows_are_tidy() -> None:
    shape = Layout(BUCKETS, 2, 2)
    tally, base = Tally(shape, 3), Tally(shape, 3, heads=1)
    buckets = torch.tensor([bucket_of(str(n)) for n in range(40)])
    rng = torch.Generator().manual_seed(0)
    for layer in range(2):
        values = torch.rand(40, 2, 3, generator=rng)
        values[:, 1, 2] = 1 if layer else 0
        where = torch.ones(40, 1, 3)
        where[:, :, 1] = 0  # the second group never occurs
        tally.add(layer, values * where, where, buckets)
        base.add(layer, torch.full((40, 1, 3), 0.5) * where, where, buckets)
    statistic = Statistic("share", tally, base, Unit.SHARE, "", ("a", "b", "c"))
    rows = head_rows([statistic], "example", "corpus", "trained")
    places = [(row.layer, row.head, row.group) for row in rows]
    assert len(places) == (4 + 2 + 1) * 2
    assert (None, None, "a") in places
    assert (1, None, "c") in places
    assert not any(group == "b" for _, _, group in places)
    best = best_rows([statistic], "example", "corpus", "trained")
    assert [row.group for row in best] == ["a", "c"]
    assert (*best[1].place, best[1].value) == (1, 1, 1.0)


@given(st.permutations(list(range(12))), st.integers(0, 12), st.integers(1, 5))
def test_exemplars_merge_to_one_choice(ranks: list[int], cut: int, size: int) -> None:
    def store(part: list[int]) -> Exemplars:
        made = Exemplars(size)
        for rank in part:
            made.offer(Exemplar(rank, str(rank)))
        return made

    merged = store(ranks[:cut])
    merged.merge(store(ranks[cut:]))
    assert [one.rank for one in merged] == list(range(12))[:size]


def test_a_shard_result_survives_being_written() -> None:
    result = ShardResult()
    store = result.exemplars["maps of"] = Exemplars(2)
    result.tallies["a b"] = tally_of([0.1, 0.2], [1, 5])
    result.counts["examples"] = 7
    maps = np.arange(8, dtype=np.uint8).reshape(1, 2, 2, 2)
    store.offer(Exemplar(3, "s1", {"tokens": ["<b>", "é"]}, {"maps": maps, "empty": maps[:0]}))
    again = ShardResult.from_arrays(result.arrays())
    np.testing.assert_array_equal(again.tallies["a b"].sums, result.tallies["a b"].sums)
    assert again.counts == result.counts
    (one,) = again.exemplars["maps of"]
    assert (one.rank, one.id, one.record) == (3, "s1", {"tokens": ["<b>", "é"]})
    np.testing.assert_array_equal(one.arrays["maps"], maps)
    assert one.arrays["empty"].shape == (0, 2, 2, 2)


def test_a_group_that_one_half_never_sees_is_chosen_on_all_data() -> None:
    """One document: the score of the best row is that of the head it names."""
    sums, counts = np.zeros((128, 3, 1)), np.zeros((128, 3, 1))
    counts[4] = 10
    sums[4, :, 0] = [1, 7, 5]
    assert crossfit(sums, sums, counts)[4, 0] == 7
    assert crossfit(sums, sums, counts).sum() == 7


def test_a_one_sided_test_asks_whether_the_one_is_larger() -> None:
    rng = np.random.default_rng(1)
    counts = np.full((60, 2), 20.0)
    chance = np.full((60, 2), 8.0)
    sums = np.stack([rng.binomial(20, 0.2, 60), rng.binomial(20, 0.6, 60)], 1).astype(float)
    both = difference_test(sums, counts, chance, counts)[1]
    above = difference_test(sums, counts, chance, counts, above=True)[1]
    assert (both < 1e-6).all()
    assert above[0] > 0.999
    assert above[1] == pytest.approx(both[1] / 2)


def test_a_known_error_serves_where_cases_are_few() -> None:
    """No hits where two were expected is no discovery; the jackknife alone would call it one."""
    counts, sums = np.full((100, 1), 2.0), np.zeros((100, 1))
    expected = np.full((100, 1), 0.02)
    expected[0] = 0.03
    alone = difference_test(sums, counts, expected, counts)[1]
    known = difference_test(sums, counts, expected, counts, np.sqrt(2 * 0.99) / 200)[1]
    assert alone[0] < 1e-6
    assert known[0] > 0.1


def test_what_differs_by_rounding_is_not_told_apart() -> None:
    """A number that is its own baseline differs from it by rounding, which may look consistent."""
    rng = np.random.default_rng(5)
    counts = np.ones((40, 3))
    sums = rng.uniform(0.2, 0.4, (40, 3))
    other = sums * (1 + np.float32(1e-8))
    assert np.isnan(difference_test(sums, counts, other, counts)[1]).all()
    balanced = sums + np.where(np.arange(40) % 2, 0.1, -0.1)[:, None]  # equal only in total
    assert (difference_test(sums, counts, balanced, counts)[1] > 0.9).all()
    apart = sums * (1 + rng.normal(0.002, 0.001, (40, 3)))
    assert (difference_test(sums, counts, apart, counts)[1] < 0.001).all()
