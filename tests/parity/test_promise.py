"""The test behind pruning's promise, against slow references and against its own error rate."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from bench.promise import broken_promises, synthetic_population

from headscope.evidence.loss_test import MIN_UNITS, LossTest, exact_p, tango_score
from headscope.evidence.metrics import (
    ACCURACY,
    F1,
    LOSS,
    MATTHEWS,
    PEARSON,
    SPEARMAN,
    Metric,
    MetricKind,
)
from headscope.experiments.pruning.certification import (
    Limit,
    Step,
    certified,
    certify,
    removal_counts,
)


def reference_p(lost: int, gained: int, examples: int, allowed: float) -> float:
    """The exact p-value by adding up the probabilities of all samples, for many rates of gains."""

    def score(b: int, c: int) -> float:
        rates = np.linspace(1e-9, (1 - allowed) / 2 - 1e-9, 20_001)
        same = examples - b - c
        likelihood = b * np.log(rates + allowed) + c * np.log(rates)
        likelihood += same * np.log(1 - allowed - 2 * rates)
        rate = rates[likelihood.argmax()]
        variance = examples * (2 * rate + allowed - allowed**2)
        return (b - c - examples * allowed) / math.sqrt(variance)

    pairs = [(b, c) for b, c in product(range(examples + 1), repeat=2) if b + c <= examples]
    limit = score(lost, gained) + 1e-3
    low = [(b, c) for b, c in pairs if score(b, c) <= limit]
    largest = 0.0
    for rate in np.linspace(0, (1 - allowed) / 2, 201):
        total = sum(
            math.comb(examples, b)
            * math.comb(examples - b, c)
            * (rate + allowed) ** b
            * rate**c
            * max(0.0, 1 - allowed - 2 * rate) ** (examples - b - c)
            for b, c in low
        )
        largest = max(largest, total)
    return largest


@pytest.mark.parametrize(
    ("lost", "gained", "allowed"),
    [(0, 0, 0.1), (1, 0, 0.2), (2, 3, 0.15), (0, 4, 0.05), (5, 1, 0.3), (6, 6, 0.2)],
)
def test_the_exact_test_adds_up_all_samples(lost: int, gained: int, allowed: float) -> None:
    expected = reference_p(lost, gained, 20, allowed)
    assert exact_p(lost, gained, 20, allowed) == pytest.approx(expected, abs=2e-3)


def test_the_exact_test_errs_in_no_more_than_a_twentieth_of_all_samples() -> None:
    examples, allowed = 30, 0.2
    pairs = [(b, c) for b, c in product(range(examples + 1), repeat=2) if b + c <= examples]
    rejected = [(b, c) for b, c in pairs if b < 7 + c and exact_p(b, c, examples, allowed) <= 0.05]
    for rate in np.linspace(0, 0.4, 41):
        chances = [
            math.comb(examples, b)
            * math.comb(examples - b, c)
            * (rate + allowed) ** b
            * rate**c
            * max(0.0, 0.8 - 2 * rate) ** (examples - b - c)
            for b, c in rejected
        ]
        assert sum(chances) <= 0.0505


def test_the_exact_test_is_that_of_a_binomial_where_nothing_changed() -> None:
    for examples, allowed in ((299, 0.01), (59, 0.05), (100, 0.01)):
        assert exact_p(0, 0, examples, allowed) == pytest.approx((1 - allowed) ** examples)


def test_fewer_losses_and_more_gains_speak_less_for_a_loss() -> None:
    scores = [tango_score(np.arange(20), np.full(20, gained), 100, 0.05) for gained in range(20)]
    assert (np.diff(scores, axis=1) > 0).all()
    assert (np.diff(scores, axis=0) < 0).all()
    chances = [exact_p(lost, 3, 150, 0.05) for lost in range(12)]
    assert chances == sorted(chances)


def outcomes(metric: Metric, examples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gold, predictions, and changed predictions."""
    random = np.random.default_rng(5)
    gold, error, change = random.normal(size=(3, examples))
    intact, changed = gold + error, gold + error + 0.3 * change
    if metric.kind is MetricKind.CLASSES:
        gold, intact, changed = (np.asarray(each > 0, float) for each in (gold, intact, changed))
    if metric.kind is MetricKind.LOSS:
        return np.full(examples, 7.0), intact**2, changed**2
    return gold, intact, changed


@pytest.mark.parametrize("metric", [F1, MATTHEWS, PEARSON, SPEARMAN, LOSS])
def test_the_other_test_leaves_out_one_document_after_the_other(metric: Metric) -> None:
    from scipy import stats

    gold, intact, changed = outcomes(metric, 120)
    units = [f"document {number // 3}" for number in range(120)]
    test, allowed = LossTest(metric, intact, gold, units), 0.2
    estimate = test(changed, allowed)
    loss = metric.better * (metric(intact, gold) - metric(changed, gold))
    without = []
    for document in range(40):
        rest = np.arange(120) // 3 != document
        before, after = (metric(each[rest], gold[rest]) for each in (intact, changed))
        without.append(before - after)
    error = math.sqrt(39 / 40 * ((np.array(without) - np.mean(without)) ** 2).sum())
    distance = (allowed - loss) / error
    assert estimate.loss == pytest.approx(loss)
    if metric.kind is MetricKind.CLASSES:  # a loss of so much, in steps of whole documents
        assert estimate.error >= error - 1e-12
        assert estimate.p >= stats.t.sf(distance, 39)
    else:
        assert estimate.error == pytest.approx(error)
        assert estimate.p == pytest.approx(stats.t.sf(distance, 39))


def test_few_documents_promise_nothing() -> None:
    gold, intact, _ = outcomes(PEARSON, 300)
    few = LossTest(PEARSON, intact, gold, [str(n % (MIN_UNITS - 1)) for n in range(300)])
    enough = LossTest(PEARSON, intact, gold, [str(n) for n in range(300)])
    better = 0.5 * (intact + gold)
    assert few(better, 0.01).p == 1.0
    assert enough(better, 0.01).p < 1e-6


def test_as_many_examples_as_are_said_to_be_needed_are_enough() -> None:
    for metric in (ACCURACY, F1):
        gold = np.tile([1.0, 0.0, 1.0, 1.0], 25)
        test = LossTest(metric, gold, gold, [str(n) for n in range(100)])
        estimate = test(gold, 0.01)
        needed = test.needed(estimate, 0.01, 0.05)
        assert estimate.p > 0.05
        assert needed is not None
        assert 200 < needed < 500
        more = np.resize(gold, needed)
        enough = LossTest(metric, more, more, [str(n) for n in range(needed)])
        assert enough(more, 0.01).p <= 0.05
        assert test.needed(test(1 - gold, 0.01), 0.01, 0.05) is None


def test_a_sequence_ends_with_the_first_number_that_fails() -> None:
    gold = np.ones(1000)
    test = LossTest(ACCURACY, gold, gold, [str(n) for n in range(1000)])
    lost, asked = {1: 0, 2: 1, 3: 40, 4: 0}, []

    def predict(removed: int) -> np.ndarray:
        asked.append(removed)
        return np.where(np.arange(1000) < lost[removed], 0.0, 1.0)

    steps = list(certify([1, 2, 3, 4], predict, test, Limit(0.01, 0.95)))
    assert [step.accepted for step in steps] == [True, True, False]
    assert asked == [1, 2, 3]  # 4 would be accepted, but is not tried
    assert certified(steps) == 2
    assert certified([Step(3, steps[0].estimate, accepted=False)]) == 0
    assert removal_counts(144)[-1] == 144
    assert len(removal_counts(144)) == 24


@pytest.mark.parametrize("metric", [ACCURACY, F1, MATTHEWS, PEARSON])
def test_the_promise_is_broken_in_no_more_than_a_twentieth_of_the_cases(metric: Metric) -> None:
    """The point estimate broke it in half of them."""
    draws = 400
    population = synthetic_population(metric, 0.02, noise=0.05)
    broken = broken_promises(population, Limit(0.02, 0.95), examples=400, draws=draws)
    assert broken.before > 0.3
    assert broken.after <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / draws)
    assert broken.after > 0.01  # no wider than it must be
