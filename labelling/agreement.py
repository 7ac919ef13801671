"""How far the two annotators agree, and what the labels are after a third look.

python -m labelling.agreement
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from sklearn.metrics import cohen_kappa_score, confusion_matrix, f1_score

from headscope.analyses.patterns import SHAPES
from labelling.draw import read_maps
from labelling.votes import by_annotator, labels

TIMES = 2000


def interval(one: list[str], other: list[str]) -> tuple[float, float]:
    """A bootstrap interval of Cohen's kappa over maps."""
    rng, first, second = np.random.default_rng(0), np.array(one), np.array(other)
    drawn = []
    for _ in range(TIMES):
        places = rng.integers(0, len(first), len(first))
        drawn.append(cohen_kappa_score(first[places], second[places]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    drawn, _ = read_maps()
    first, second, final = by_annotator(1), by_annotator(2), labels()
    kinds = {"drawn at random": [one.number for one in drawn if one.how == "random"]}
    kinds["all"] = [one.number for one in drawn]
    for name, numbers in kinds.items():
        both = [number for number in numbers if number in first and number in second]
        one, other = ([votes[n].shape for n in both] for votes in (first, second))
        low, high = interval(one, other)
        print(f"{name}: {len(both)} maps labelled twice")
        print(f"  agree {np.mean([a == b for a, b in zip(one, other, strict=True)]):.3f}")
        print(f"  Cohen's kappa {cohen_kappa_score(one, other):.3f} [{low:.3f}, {high:.3f}]")
        scores = f1_score(one, other, labels=SHAPES, average=None, zero_division=0)
        each = ", ".join(f"{s} {f:.2f}" for s, f in zip(SHAPES, scores, strict=True))
        print(f"  F1 of the second against the first {scores.mean():.3f} ({each})")
        for shape, row in zip(SHAPES, confusion_matrix(one, other, labels=SHAPES), strict=True):
            print(f"  {shape:18}", *(f"{cell:4}" for cell in row))
        flags = [[votes[n].matching for n in both] for votes in (first, second)]
        print(f"  matching: kappa {cohen_kappa_score(*flags):.3f}")
        print(f"  labels {dict(Counter(final[n].shape for n in numbers))}")
        print(f"  matching {sum(final[n].matching for n in numbers)}")


if __name__ == "__main__":
    main()
