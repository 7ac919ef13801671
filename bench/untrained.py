"""How often heads of untrained networks pass a test: they know nothing, so none should.

    python -m bench.untrained [MODEL ...] --data CORPUS [CORPUS ...] [--seeds 3] [--limit 1000]

Every model is drawn anew with random weights, once for each seed, and scanned with all analyses
that the annotation allows: with every head tested against its baseline alone (before), and against
what other untrained networks reach (after). Printed per statistic: the tests of single heads, the
share with p below .05, and how many remain after correction; the last also of the best heads.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headscope._util.progress import NoProgress
from headscope.corpus import Corpus, read
from headscope.evidence import BEST, HEADS, HeadRow
from headscope.evidence.interval import ALPHA
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model, load, reinitialise

FIRST_SEED = 100
"""Not a seed that scans use by themselves."""
BEFORE, AFTER = 0, 2
"""Untrained networks that a scan compares with."""


@dataclass
class Count:
    """Tests of one statistic.

    Attributes:
        tests, small, sure: of single heads, with p below `ALPHA`, and after correction.
        best: of best heads, after correction.
    """

    tests: int = 0
    small: int = 0
    sure: int = 0
    best: int = 0

    @property
    def share(self) -> float:
        """Of single heads, with p below `ALPHA`."""
        return self.small / self.tests


Counts = dict[str, Count]
"""By analysis and statistic."""


def untrained_tests(
    model: Model,
    corpora: Sequence[Corpus],
    seeds: Iterable[int],
    untrained: int = AFTER,
    only: Sequence[str] | None = None,
) -> Counts:
    """The tests of a model's architecture with random weights.

    Args:
        untrained: networks that they are compared with.
        only: names of analyses; None: all that the annotation allows.
    """
    counts: Counts = {}
    for seed in seeds:
        drawn = reinitialise(model, seed)
        settings = Settings(untrained=untrained)
        results = scan(drawn, *corpora, only=only, settings=settings, progress=NoProgress())
        for row in results.rows(HEADS):
            if row.head is not None and row.p is not None:
                count = counts.setdefault(_name(row), Count())
                count.tests += 1
                count.small += row.p < ALPHA
                count.sure += row.sure
        for row in results.rows(BEST):
            if row.p is not None:
                counts[_name(row)].best += row.sure
    return counts


def _name(row: HeadRow) -> str:
    return f"{row.analysis}: {row.statistic}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["minilm"])
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=None)
    asked = parser.parse_args()
    corpora = [read(source, limit=asked.limit) for source in asked.data]
    seeds = range(FIRST_SEED, FIRST_SEED + asked.seeds)
    for name in asked.models:
        model = load(name)
        print(f"{model.name}, {asked.seeds} random networks: {', '.join(c.name for c in corpora)}")
        print(f"{'':34}         before: p<.05   q<.05  best    after: p<.05   q<.05  best")
        before, after = (untrained_tests(model, corpora, seeds, n) for n in (BEFORE, AFTER))
        for what, count in before.items():
            other = after.get(what, Count(1))
            print(
                f"{what:34} {count.tests:6}        {count.share:6.1%} {count.sure:7} "
                f"{count.best:5}          {other.share:6.1%} {other.sure:7} {other.best:5}"
            )


if __name__ == "__main__":
    main()
