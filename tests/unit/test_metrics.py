"""Metrics equal their textbook forms on repeated examples; paired effects cover; verdicts hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from headscope.evidence.metrics import (
    ACCURACY,
    F1,
    LOSS,
    MATTHEWS,
    PEARSON,
    SPEARMAN,
    Metric,
)
from headscope.evidence.paired import (
    Effect,
    Paired,
    Resamples,
    largest_step,
    randomization_test,
    sign_test,
)
from headscope.evidence.sequential import Decider, Verdict, final_verdict

Floats = NDArray[np.float64]


def slow(metric: Metric, predictions: list[float], gold: list[float]) -> float:
    """The textbook, one example at a time."""
    pairs = list(zip(predictions, gold, strict=True))
    if metric is ACCURACY or metric is LOSS:
        right = sum(p == g for p, g in pairs) / len(pairs)
        return right if metric is ACCURACY else sum(predictions) / sum(gold)
    both = sum(p == 1 and g == 1 for p, g in pairs)
    only_said = sum(p == 1 and g != 1 for p, g in pairs)
    only_there = sum(p != 1 and g == 1 for p, g in pairs)
    neither = len(pairs) - both - only_said - only_there
    if metric is F1:
        precision = both / (both + only_said) if both + only_said else 0.0
        recall = both / (both + only_there) if both + only_there else 0.0
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    if metric is MATTHEWS:
        under = (both + only_said) * (both + only_there) * (neither + only_said)
        under *= neither + only_there
        return (both * neither - only_said * only_there) / under**0.5 if under else 0.0
    if len(set(predictions)) == 1 or len(set(gold)) == 1:
        return 0.0
    found = (
        stats.pearsonr(predictions, gold)
        if metric is PEARSON
        else stats.spearmanr(predictions, gold)
    )
    return float(found.statistic)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=25
    ).filter(lambda some: sum(weight for _, _, weight in some) >= 3)
)
@pytest.mark.parametrize("metric", [ACCURACY, F1, MATTHEWS, PEARSON, SPEARMAN, LOSS])
def test_a_weighted_metric_is_the_metric_of_repeated_examples(
    metric: Metric, cases: list[tuple[int, int, int]]
) -> None:
    top = 1 if metric in (ACCURACY, F1, MATTHEWS) else 3
    predictions = np.array([float(min(p, top)) for p, _, _ in cases])
    gold = np.array([float(min(g, top)) + (metric is LOSS) for _, g, _ in cases])
    weights = np.array([[float(weight) for _, _, weight in cases]])
    repeated = [place for place, (_, _, weight) in enumerate(cases) for _ in range(weight)]
    expected = slow(metric, predictions[repeated].tolist(), gold[repeated].tolist())
    assert metric.formula(predictions, gold, weights)[0] == pytest.approx(expected, abs=1e-9)


def drawn(
    metric: Metric, rng: np.random.Generator, n: int, effect: float
) -> tuple[Floats, Floats, Floats]:
    """Gold, intact and changed predictions, with a true effect on the metric."""
    if metric is ACCURACY:
        gold = rng.integers(0, 2, n).astype(float)
        right = rng.random(n) < 0.8
        flip = rng.random(n)
        now = right.copy()
        lost, won = 0.04 + max(0.0, -effect), 0.04 + max(0.0, effect)
        now[right & (flip < lost / 0.8)] = False
        now[~right & (flip < won / 0.2)] = True
        return gold, np.where(right, gold, 1 - gold), np.where(now, gold, 1 - gold)
    gold = rng.normal(size=n)
    intact = gold + rng.normal(size=n)
    return gold, intact, intact + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("metric", [ACCURACY, PEARSON])
def test_intervals_of_a_paired_difference_cover(metric: Metric) -> None:
    rng = np.random.default_rng(1)
    truth = 0.0
    if metric is PEARSON:  # the difference in a sample so large that it is the truth
        gold, intact, changed = drawn(metric, rng, 400_000, 0)
        truth = metric(changed, gold) - metric(intact, gold)
    covered = 0
    for number in range(200):
        gold, intact, changed = drawn(metric, rng, 250, 0)
        resamples = Resamples([str(i) for i in range(250)], times=400, seed=number)
        found = Paired.of(metric, intact, gold, resamples).effect(changed)
        covered += found.low <= truth <= found.high
        assert found.delta == pytest.approx(metric(changed, gold) - metric(intact, gold))
    assert 0.91 <= covered / 200 <= 0.985


def test_documents_are_drawn_together() -> None:
    rng = np.random.default_rng(2)
    units = [str(place // 10) for place in range(200)]
    gold = np.ones(200)
    shared = np.repeat(rng.random(20) < 0.5, 10).astype(float)  # a document is right or wrong
    alone = Resamples([str(i) for i in range(200)]).interval(ACCURACY, shared, gold)
    together = Resamples(units).interval(ACCURACY, shared, gold)
    assert together[2] > 2.5 * alone[2]  # ten examples of one document say no more than one


def test_the_sign_test_is_exact() -> None:
    for won, lost in ((0, 0), (3, 3), (1, 6), (12, 2)):
        expected = stats.binomtest(won, won + lost).pvalue if won + lost else 1.0
        assert sign_test(won, lost) == pytest.approx(min(1.0, expected))


@pytest.mark.parametrize("metric", [F1, MATTHEWS])
def test_the_randomization_test_is_what_coins_would_give(metric: Metric) -> None:
    rng = np.random.default_rng(5)
    gold, intact, changed = drawn(ACCURACY, rng, 60, -0.1)
    found, as_large, tosses = abs(metric(changed, gold) - metric(intact, gold)), 0, 4000
    for _ in range(tosses):  # example by example
        swap = rng.random(60) < 0.5
        one, other = np.where(swap, intact, changed), np.where(swap, changed, intact)
        as_large += abs(metric(one, gold) - metric(other, gold)) >= found - 1e-12
    p = randomization_test(metric, intact, changed, gold)
    assert p == pytest.approx(as_large / tosses, abs=0.03)


def test_the_randomization_test_agrees_with_the_exact_one() -> None:
    rng = np.random.default_rng(6)
    for effect in (0.0, -0.05, -0.1):
        gold, intact, changed = drawn(ACCURACY, rng, 200, effect)
        right, before = changed == gold, intact == gold
        exact = sign_test(int((right & ~before).sum()), int((before & ~right).sum()))
        assert randomization_test(ACCURACY, intact, changed, gold) == pytest.approx(
            exact, abs=0.015
        )


def test_randomization_finds_no_more_than_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.evidence.paired.SWAPS", 999)  # exact for any number
    rng = np.random.default_rng(7)
    found = [
        randomization_test(F1, intact, changed, gold)
        for gold, intact, changed in (drawn(ACCURACY, rng, 150, 0.0) for _ in range(300))
    ]
    assert np.mean(np.array(found) < 0.05) <= 0.08
    assert np.mean(np.array(found) < 0.5) <= 0.58


@pytest.mark.parametrize(
    ("effect", "wrong"), [(0.0, {"helps", "hurts"}), (-0.05, {"hurts", "nothing"})]
)
def test_early_verdicts_are_wrong_no_more_often_than_promised(
    effect: float, wrong: set[str]
) -> None:
    """Heads with a known effect, looked at eight times; the first verdict counts."""
    rng = np.random.default_rng(3)
    decider, n, heads = Decider(margin=0.05, error=0.05, looks=8), 800, 100
    mistakes = decided = 0
    for number in range(heads):
        gold, intact, changed = drawn(ACCURACY, rng, n, effect)
        for seen in range(100, n + 1, 100):
            resamples = Resamples([str(i) for i in range(seen)], times=200, seed=number)
            paired = Paired.of(ACCURACY, intact[:seen], gold[:seen], resamples)
            verdict = decider.verdict(paired.effect(changed[:seen]), ACCURACY)
            if verdict is not Verdict.UNCLEAR:
                decided += 1
                mistakes += str(verdict) in wrong
                break
    assert mistakes / heads <= 0.05
    assert decided > 0.5 * heads  # it does decide


@pytest.mark.parametrize("metric", [ACCURACY, F1, MATTHEWS])
def test_a_step_is_the_largest_that_a_changed_prediction_makes(metric: Metric) -> None:
    gold, intact, _ = drawn(ACCURACY, np.random.default_rng(8), 40, 0.0)
    moves = []
    for place in range(40):
        changed = intact.copy()
        changed[place] = 1 - changed[place]
        moves.append(abs(metric(changed, gold) - metric(intact, gold)))
    assert largest_step(metric, intact, gold) == pytest.approx(max(moves))


def test_nothing_is_not_said_of_a_few_examples() -> None:
    def same(n: int, positive: float, metric: Metric) -> Effect:
        """Not one prediction changed."""
        gold = (np.arange(n) < positive * n).astype(float)
        resamples = Resamples([str(place) for place in range(n)], times=2)
        return Paired.of(metric, gold, gold, resamples).effect(gold)

    assert same(40, 0.5, ACCURACY).high > 0.09  # one in ten may yet be missed
    assert Decider().verdict(same(40, 0.5, ACCURACY), ACCURACY) is Verdict.UNCLEAR
    assert Decider().verdict(same(1000, 0.1, ACCURACY), ACCURACY) is Verdict.NOTHING
    assert Decider().verdict(same(1000, 0.1, F1), F1) is Verdict.UNCLEAR  # few positives count much
    assert Decider().verdict(same(6000, 0.1, F1), F1) is Verdict.NOTHING


def test_verdicts_know_which_way_is_better() -> None:
    interval, margin = (-0.3, -0.1), 0.01
    assert final_verdict(ACCURACY, -0.2, interval, 0.01, margin) is Verdict.HELPS
    assert final_verdict(LOSS, -0.2, interval, 0.01, margin) is Verdict.HURTS
    assert final_verdict(LOSS, -0.2, interval, 0.2, margin) is Verdict.UNCLEAR
    assert final_verdict(ACCURACY, 0.001, (-0.002, 0.004), 0.2, margin) is Verdict.NOTHING


@pytest.mark.parametrize("texts", [40, 3])
def test_bleu_and_chrf_are_those_of_sacrebleu(texts: int) -> None:
    from sacrebleu.metrics import bleu, chrf

    from headscope.corpus import parallel
    from headscope.evidence.translation_metrics import BLEU, CHRF
    from headscope.tasks.translation import Translation

    rng = np.random.default_rng(3)
    words = np.array(["the", "cat", "sat", "on", "a", "mat", ",", "today", "."])
    references = [" ".join(rng.choice(words, rng.integers(3, 12))) for _ in range(texts)]
    said = [" ".join(w for w in text.split() if rng.random() < 0.8) for text in references]
    task = Translation("some", parallel([("text", text) for text in references]))
    counts = np.concatenate([np.zeros((texts, 1)), task.counts(said, references)], 1)
    weights = rng.integers(0, 3, (5, texts)).astype(float)
    for metric, theirs in ((BLEU, bleu.BLEU()), (CHRF, chrf.CHRF())):
        values = metric.weighted(counts, np.ones(texts), weights)
        for value, times in zip(values, weights.astype(int), strict=True):
            drawn = np.repeat(np.arange(texts), times)
            score = theirs.corpus_score(
                [said[place] for place in drawn], [[references[place] for place in drawn]]
            )
            assert value == pytest.approx(score.score / 100, abs=1e-9)
