"""Intervals say what they promise of real attention: random halves of a corpus agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from headscope._util.progress import NoProgress
from headscope.analyses import choose
from headscope.corpus import BUCKETS, read
from headscope.evidence import Statistic, estimate
from headscope.experiments.scan.passes import Pass, Together
from headscope.experiments.scan.reading import survey
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from tests.unit.examples import corpus_of

SPLITS = 20
NAMES = ["dependencies", "focus", "relative_position", "special_tokens"]


@pytest.fixture(scope="module")
def statistics(minilm: Model) -> list[Statistic]:
    """What the bundled model does on the tour's sentences, each a document of its own."""
    corpus = corpus_of([replace(example, document=None) for example in read("tour")])
    kinds, settings = choose(NAMES), Settings(min_count=100)
    surveyed = survey(minilm, corpus, kinds, settings, NoProgress())
    single = Pass(minilm, corpus, surveyed, kinds, settings, NoProgress())
    analyses = single.restore(Together([single]).work(next(single.shards())))
    return [each for analysis in analyses for each in analysis.statistics()]


def agreement(statistic: Statistic) -> Iterator[NDArray[np.bool_]]:
    """For random halves: whether the 95% interval of the difference of every number includes 0.

    The interval is that of two independent estimates with intervals of their own: the sides that
    face each other, squared and added.
    """
    rng, tally = np.random.default_rng(29), statistic.tally
    counts = np.broadcast_to(tally.counts, tally.sums.shape)
    for _ in range(SPLITS):
        half = rng.permutation(BUCKETS) < BUCKETS // 2
        one, other = (
            estimate(tally.sums[part], counts[part], statistic.unit.bounded)
            for part in (half, ~half)
        )
        above = np.hypot(one.value - one.low, other.high - other.value)
        below = np.hypot(one.high - one.value, other.value - other.low)
        difference = one.value - other.value
        yield np.abs(difference) <= np.where(difference > 0, above, below)


def test_random_halves_agree_as_often_as_their_intervals_say(statistics: list[Statistic]) -> None:
    """In 95% of cases; a little more where few cases make intervals of shares conservative."""
    heads = [each for each in statistics if each.tally.sums.shape[2] > 1]
    rates = {(each.name, each.direction): float(np.mean(list(agreement(each)))) for each in heads}
    assert len(rates) >= 9
    assert all(0.92 <= rate <= 0.985 for rate in rates.values()), rates
    assert 0.94 <= np.mean(list(rates.values())) <= 0.975
