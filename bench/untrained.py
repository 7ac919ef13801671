"""How often heads of untrained networks pass a test: they know nothing, so none should.

    python -m bench.untrained [MODEL ...] --data CORPUS [CORPUS ...] [--seeds 3] [--limit 1000]

Every model is drawn anew with random weights, once for each seed, and scanned with all analyses
that the annotation allows. Printed per analysis: the tests of single heads, the share with p below
.05, and how many remain after correction; the same for the best head of each group.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import cast

from headscope._util.progress import NoProgress
from headscope.corpus import Corpus, read
from headscope.evidence import BEST, HEADS, HeadRow
from headscope.evidence.interval import ALPHA
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import load, reinitialise

FIRST_SEED = 100
"""Not a seed that scans use by themselves."""
Counts = dict[str, list[int]]
"""By analysis: tests, p below `ALPHA`, q below `ALPHA`; the same of best heads."""


def count(rows: Sequence[HeadRow], counts: Counts, place: int) -> None:
    """Add the tests among some rows."""
    for row in rows:
        if row.p is not None:
            tests = counts.setdefault(f"{row.analysis}: {row.statistic}", [0] * 6)
            tests[place] += 1
            tests[place + 1] += row.p < ALPHA
            tests[place + 2] += row.sure


def untrained_tests(name: str, corpora: list[Corpus], seeds: int) -> Counts:
    """The tests of a model's architecture with random weights."""
    counts: Counts = {}
    model = load(name)
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        drawn = reinitialise(model, seed)
        results = scan(drawn, *corpora, settings=Settings(), progress=NoProgress())
        count([row for row in results.rows(HEADS) if row.head is not None], counts, 0)
        count(cast(Sequence[HeadRow], results.rows(BEST)), counts, 3)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["minilm"])
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=None)
    asked = parser.parse_args()
    corpora = [read(source, limit=asked.limit) for source in asked.data]
    for name in asked.models:
        print(f"{name}, {asked.seeds} random networks on {', '.join(c.name for c in corpora)}")
        print(f"{'':44}   heads  p<.05  q<.05 |  best  p<.05  q<.05")
        for what, row in untrained_tests(name, corpora, asked.seeds).items():
            share = f"{row[1] / row[0]:6.1%}" if row[0] else "      "
            print(f"{what:44} {row[0]:7} {share} {row[2]:6} | {row[3]:5} {row[4]:6} {row[5]:6}")


if __name__ == "__main__":
    main()
