"""How often pruning's promise is broken: by the point estimate (before), and as it ships (after).

    python -m bench.promise [--paths synthetic sts-b mrpc] [--examples 500 2000] [--draws 1000]

Each population holds the outcomes of many examples along one path of growing removals, so that the
loss at every point of the path is known. Data sets are drawn from it, each chooses a number of
heads, and the promise is broken if the loss of the population exceeds what was allowed. Real paths
are those of a model on pairs of GLUE (`HEADSCOPE_DATA`): cosines on STS-B, and on MRPC the classes
that a threshold makes of them. Synthetic paths are the hardest case: their second removal loses
just more than is allowed, so that it is accepted as often as a test of 5% may err. Before that,
what several bounds would make of the same counts of losses and gains.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope import load, task
from headscope.evidence.loss_test import LossTest, exact_p
from headscope.evidence.metrics import ACCURACY, F1, MATTHEWS, PEARSON, SPEARMAN, Metric
from headscope.experiments._shared.held_out import BUDGET
from headscope.experiments.pruning.certification import Limit, certified, certify, removal_counts
from headscope.experiments.pruning.orders import HeadScorer, order_by
from headscope.model import Model, disable
from headscope.tasks import Task

Floats = NDArray[np.float64]
ALLOWED = (0.005, 0.01, 0.02)
CONFIDENCE = 0.95
SYNTHETIC = "synthetic"
REAL = {
    "sts-b": ("dev", "train", (SPEARMAN, PEARSON)),
    "mrpc": ("train", "dev", (ACCURACY, F1, MATTHEWS)),
}
"""Real paths: the part of GLUE's data with the population, the part that chooses the order, and the
metrics. The model was fine-tuned on neither.
"""
CHOOSING = 128
"""Pairs that choose the order of a real path."""
BEYOND = 0.1
"""A real path ends where its metric has lost this much."""
SIZE = 100_000
"""Examples of a synthetic population."""
NOISE = 0.05
"""How much predictions of a synthetic population change to no effect."""
SLOW_DRAWS = 1000
"""Most draws for a metric of scores, whose jackknife is slow."""


@dataclass(frozen=True)
class Population:
    """Outcomes of many examples along a path of growing removals.

    Attributes:
        gold, intact: (example,); path: (removal, example) predictions; counts: heads removed.
    """

    name: str
    metric: Metric
    gold: Floats
    intact: Floats
    path: Floats
    counts: list[int]

    @property
    def losses(self) -> dict[int, float]:
        """The loss of the population by heads removed."""
        whole = self.metric(self.intact, self.gold)
        lost = (whole - self.metric(predictions, self.gold) for predictions in self.path)
        return dict(zip(self.counts, lost, strict=True))


@dataclass(frozen=True)
class Broken:
    """How often a promise is broken, and how many heads are removed on average."""

    before: float
    after: float
    removed_before: float
    removed_after: float


def broken_promises(
    population: Population, limit: Limit, examples: int, draws: int, seed: int = 0
) -> Broken:
    """The share of drawn data sets by which more is lost than was promised."""
    losses = population.losses | {0: 0.0}
    random = np.random.default_rng(seed)
    units = [str(number) for number in range(examples)]
    chosen = np.zeros((draws, 2), int)
    for draw in range(draws):
        rows = random.integers(len(population.gold), size=examples)
        gold, path = population.gold[rows], population.path[:, rows]
        test = LossTest(population.metric, population.intact[rows], gold, units)
        predict = dict(zip(population.counts, path, strict=True)).__getitem__
        steps = list(certify(population.counts, predict, test, limit))
        chosen[draw] = by_estimate(population, rows, limit.max_drop), certified(steps)
    over = np.vectorize(losses.__getitem__)(chosen) > limit.max_drop
    return Broken(*(float(each) for each in (*over.mean(0), *chosen.mean(0))))


def by_estimate(population: Population, rows: NDArray[np.int64], max_drop: float) -> int:
    """The rule of earlier versions: the loss on the data at hand is at most what is allowed, at
    this and at every smaller number.
    """
    removed, gold, metric = 0, population.gold[rows], population.metric
    whole = metric(population.intact[rows], gold)
    for number, predictions in zip(population.counts, population.path, strict=True):
        if whole - metric(predictions[rows], gold) > max_drop:
            break
        removed = number
    return removed


def real_populations(
    model: Model, name: str, data: Path, limit: int | None
) -> Iterator[Population]:
    """Paths of a model on pairs of STS-B or MRPC."""
    part, chooses, metrics = REAL[name]
    pairs, choosing = (
        task(f"similarity:glue/{name}", part=part, glue_dir=data / "glue", limit=limit)
        for part, limit in ((part, limit), (chooses, CHOOSING))
    )
    gold, intact, path, counts = similarity_path(model, choosing, pairs)
    if name == "mrpc":
        threshold = max(np.unique(intact), key=lambda cut: ACCURACY(intact >= cut, gold))
        intact, path = (np.asarray(each >= threshold, float) for each in (intact, path))
    for metric in metrics:
        about = f"{model.name} on {name}, {metric.name}"
        yield Population(about, metric, gold, intact, path, counts)


def similarity_path(
    model: Model, choosing: Task, pairs: Task
) -> tuple[Floats, Floats, Floats, list[int]]:
    """Gold, the intact model's cosines, those along the path, and the heads removed."""
    total = len(model.places)
    order = order_by(HeadScorer(model, choosing, 128).importance, total)
    cases = pairs.cases(model, pairs.examples, 128)
    gold = np.array([case.gold for case in cases])
    intact, path, counts = pairs.predict(model, cases, BUDGET), [], []
    for removed in removal_counts(total):
        with disable(model, model.places_of(order[:removed]), "zero"):
            path.append(pairs.predict(model, cases, BUDGET))
        counts.append(removed)
        if PEARSON(intact, gold) - PEARSON(path[-1], gold) > BEYOND:
            break
    return gold, intact, np.array(path), counts


def synthetic_population(metric: Metric, allowed: float, noise: float, seed: int = 0) -> Population:
    """A path that loses about nothing, then just more than is allowed, then twice that.

    Args:
        noise: how much predictions change to no effect: for classes the share of examples of which
            that holds, for scores the share of the variance of what is not gold.
    """
    make = synthetic_scores if metric in (PEARSON, SPEARMAN) else synthetic_classes
    gold, intact, worse = make(np.random.default_rng(seed), noise)
    whole = metric(intact, gold)

    def amount(loss: float) -> float:
        """The smallest amount of damage by which more than this is lost."""
        low, high = 0.0, 1.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            beyond = whole - metric(worse(middle), gold) > loss
            low, high = (low, middle) if beyond else (middle, high)
        return high

    path = np.array([worse(0.0), worse(amount(allowed)), worse(amount(2 * allowed))])
    about = f"synthetic, {metric.name}, noise {noise:g}"
    return Population(about, metric, gold, intact, path, [1, 2, 3])


Worse = Callable[[float], Floats]
"""From an amount of damage, 0 to 1, to changed predictions."""


def synthetic_classes(random: np.random.Generator, noise: float) -> tuple[Floats, Floats, Worse]:
    """Gold, predictions of which a fifth are wrong, and changed predictions."""
    gold = (random.random(SIZE) < 0.4).astype(float)
    wrong, place = random.random(SIZE) < 0.2, random.random(SIZE)
    intact = np.where(wrong, 1 - gold, gold)
    swapped = place < np.where(wrong, noise / 2 / 0.2, noise / 2 / 0.8)
    changed = np.where(swapped, 1 - intact, intact)
    return gold, intact, lambda amount: np.where(place > 1 - amount, 1 - gold, changed)


def synthetic_scores(random: np.random.Generator, noise: float) -> tuple[Floats, Floats, Worse]:
    """Gold, predictions with as much error as gold, and changed predictions."""
    gold, error, other, damage = random.normal(size=(4, SIZE))
    changed = gold + math.sqrt(1 - noise) * error + math.sqrt(noise) * other
    return gold, gold + error, lambda amount: changed + amount * damage


def clopper_pearson(lost: int, examples: int, allowed: float) -> float:
    """The exact p-value of the rate of losses alone, as if nothing had been gained."""
    from scipy import stats

    return float(stats.binom.cdf(lost, examples, allowed))


def hoeffding_bentkus(lost: int, gained: int, examples: int, allowed: float) -> float:
    """The p-value of differences between -1 and 1 (Bates et al. 2021)."""
    from scipy import special, stats

    mean, null = (1 + (lost - gained) / examples) / 2, (1 + allowed) / 2
    low = min(mean, null)
    divergence = float(special.rel_entr(low, null) + special.rel_entr(1 - low, 1 - null))
    bentkus = math.e * float(stats.binom.cdf(math.ceil(examples * mean), examples, null))
    return min(1.0, math.exp(-examples * divergence), bentkus)


def betting(lost: int, gained: int, examples: int, allowed: float) -> float:
    """The p-value of a bet on each difference in turn, with stakes set by those before it
    (Waudby-Smith and Ramdas 2024).
    """
    differences = np.zeros(examples)
    differences[:lost], differences[lost : lost + gained] = 1.0, -1.0
    differences = np.random.default_rng(0).permutation(differences)
    capital, best, total, squares = 0.0, 0.0, 0.0, 0.25
    for seen, difference in enumerate(differences, start=1):
        variance = squares / seen
        stake = math.sqrt(2 * math.log(1 / (1 - CONFIDENCE)) / (variance * examples))
        capital += math.log1p(-min(stake, 0.75 / (1 - allowed)) * (difference - allowed))
        best = max(best, capital)
        total += difference
        squares += (difference - total / (seen + 1)) ** 2
    return math.exp(-best)


def t_test(lost: int, gained: int, examples: int, allowed: float) -> float:
    """The p-value of a t-test, which is not valid for few losses and gains."""
    from scipy import stats

    loss = (lost - gained) / examples
    error = math.sqrt(max(0.0, (lost + gained) / examples - loss**2) / (examples - 1))
    if error == 0.0:
        return float(loss >= allowed)
    return float(stats.t.sf((allowed - loss) / error, examples - 1))


BOUNDS: dict[str, Callable[[int, int, int, float], float]] = {
    "exact": exact_p,
    "Clopper-Pearson of losses": lambda lost, _, examples, allowed: exact_p(
        lost, 0, examples, allowed
    ),
    "betting": betting,
    "Hoeffding-Bentkus": hoeffding_bentkus,
    "t-test (not valid)": t_test,
}
COUNTS = ((0, 0, 300), (0, 0, 2000), (2, 2, 500), (5, 5, 2000), (20, 20, 2000), (40, 20, 5000))


def bound_lines() -> Iterator[str]:
    """The loss that cannot be ruled out by several bounds, in points of accuracy."""
    yield f"{'lost, gained, of':>20}  " + "  ".join(BOUNDS)
    for counts in COUNTS:
        cells = (
            f"{100 * upper_bound(test, *counts):{len(name)}.2f}" for name, test in BOUNDS.items()
        )
        yield f"{', '.join(map(str, counts)):>20}  " + "  ".join(cells)


def examples_needed(allowed: float) -> int:
    """The fewest examples that can vouch for a change, even of no prediction."""
    fewest = math.floor(math.log(1 - CONFIDENCE) / math.log1p(-allowed))
    return next(n for n in count(fewest) if exact_p(0, 0, n, allowed) <= 1 - CONFIDENCE)


def upper_bound(
    p: Callable[[int, int, int, float], float], lost: int, gained: int, examples: int
) -> float:
    """The smallest loss that a test at the 5% level rejects."""
    low, high = max(0.0, (lost - gained) / examples), 0.5
    while high - low > 1e-5:
        middle = (low + high) / 2
        rejected = p(lost, gained, examples, middle) <= 1 - CONFIDENCE
        low, high = (low, middle) if rejected else (middle, high)
    return high


def populations(
    paths: Sequence[str], model: str, limit: int | None
) -> Iterator[tuple[Population, float]]:
    """The populations of some paths, each with what may be lost."""
    for name in paths:
        if name == SYNTHETIC:
            for metric in (ACCURACY, F1, MATTHEWS, PEARSON):
                for allowed in ALLOWED:
                    yield synthetic_population(metric, allowed, NOISE), allowed
        else:
            data = Path(os.environ["HEADSCOPE_DATA"])
            for population in real_populations(load(model), name, data, limit):
                for allowed in ALLOWED:
                    yield population, allowed


def broken_line(population: Population, limit: Limit, examples: int, draws: int) -> str:
    """A line of the table."""
    slow = population.metric in (PEARSON, SPEARMAN)
    times = min(draws, SLOW_DRAWS) if slow else draws
    broken = broken_promises(population, limit, examples, times)
    error = math.sqrt(broken.after * (1 - broken.after) / times)
    return (
        f"{population.name:36} {limit.max_drop:5.1%} {examples:6} {broken.before:7.1%} "
        f"{broken.after:7.1%} ±{1.96 * error:4.1%} {broken.removed_before:7.1f} "
        f"{broken.removed_after:7.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--examples", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--limit", type=int, default=None, help="pairs of each real population")
    parser.add_argument("--paths", nargs="+", choices=(SYNTHETIC, *REAL), default=[SYNTHETIC])
    asked = parser.parse_args()
    print("Loss in points of accuracy that cannot be ruled out with 95% confidence")
    print("\n".join(bound_lines()), flush=True)
    needed = (f"{examples_needed(allowed)} for {allowed:.1%}" for allowed in ALLOWED)
    print(f"Examples needed where no prediction changes: {', '.join(needed)}")
    print("How often more is lost than was allowed, and heads removed on average")
    print(f"{'':36} limit  data  before   after  (95%)   before   after", flush=True)
    for population, allowed in populations(asked.paths, asked.model, asked.limit):
        limit = Limit(allowed, CONFIDENCE)
        for examples in asked.examples:
            print(broken_line(population, limit, examples, asked.draws), flush=True)


if __name__ == "__main__":
    main()
