"""Agreement between the annotators of the earlier votes, and the resulting labels.

python -m labelling.agreement
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score, confusion_matrix, f1_score

from headscope.analyses._shapes.classifier import SHAPES
from labelling.draw import read_maps
from labelling.votes import ANNOTATORS, EVERYBODY, FURTHER, by_annotator, labels

TIMES = 1000
Said = NDArray[np.int64]
Score = Callable[[Said, Said], float]


def agree(one: Said, other: Said) -> float:
    """The share of maps on which two annotators agree."""
    return float(np.mean(one == other))


def macro(one: Said, other: Said) -> float:
    """Macro-F1 of one annotator against the other; it is symmetric."""
    return float(f1_score(one, other, average="macro", zero_division=0))


def kappa(one: Said, other: Said) -> float:
    """Cohen's kappa."""
    return float(cohen_kappa_score(one, other))


def pairs(said: Said, score: Score) -> list[float]:
    """A score of each pair of annotators.

    Args:
        said: (annotator, map)
    """
    return [score(said[one], said[other]) for one, other in combinations(range(len(said)), 2)]


def interval(said: Said, score: Score) -> tuple[float, float]:
    """A bootstrap interval over maps of the mean of all pairs."""
    rng, drawn = np.random.default_rng(0), []
    for _ in range(TIMES):
        places = rng.integers(0, said.shape[1], said.shape[1])
        drawn.append(np.mean(pairs(said[:, places], score)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def most_votes(said: Said) -> Said:
    """(map,) number of votes for the most frequent shape.

    Args:
        said: (annotator, map)

    >>> most_votes(np.array([[0, 0, 1], [0, 1, 1], [0, 2, 2]])).tolist()
    [3, 1, 2]
    """
    return np.asarray(counted(said).max(0))


def counted(said: Said) -> Said:
    """(shape, map) number of votes for each shape."""
    return np.stack([(said == shape).sum(0) for shape in range(len(SHAPES))])


def most_say(said: Said) -> Said:
    """(map,) the shape with the most votes; -1 if there is a tie.

    Args:
        said: (annotator, map)

    >>> most_say(np.array([[0, 0, 1], [0, 1, 1], [0, 2, 2], [3, 0, 2]])).tolist()
    [0, 0, -1]
    """
    counts = counted(said)
    first, second = np.sort(counts, 0)[-1], np.sort(counts, 0)[-2]
    return np.where(first > second, counts.argmax(0), -1)


def against_others(said: Said, place: int, guess: Said) -> float:
    """Macro-F1 of a guess against the majority of the annotators, leaving one of them out.

    Args:
        said: (annotator, map)
        guess: (map,)
    """
    others = most_say(np.delete(said, place, 0))
    return macro(others[others >= 0], guess[others >= 0])


def votes_on(numbers: list[int], annotators: tuple[int, ...] = ANNOTATORS) -> Said:
    """(annotator, map) shapes as indices into `SHAPES`."""
    votes = [by_annotator(annotator) for annotator in annotators]
    return np.array([[SHAPES.index(one[number].shape) for number in numbers] for one in votes])


def main() -> None:
    drawn, _ = read_maps()
    final = labels()
    kinds = {"drawn at random": [n for n in final if drawn[n].how == "random"]}
    kinds["all"] = [n for n in final if drawn[n].judged]
    for name, numbers in kinds.items():
        said = votes_on(numbers)
        print(f"{name}: {len(numbers)} maps, {len(ANNOTATORS)} annotators")
        for score in (agree, kappa, macro):
            found, (low, high) = pairs(said, score), interval(said, score)
            print(
                f"  {score.__name__}, mean over pairs: {np.mean(found):.3f} "
                f"[{low:.3f}, {high:.3f}], {min(found):.3f} to {max(found):.3f}"
            )
        alone = [against_others(said, place, one) for place, one in enumerate(said)]
        print(
            f"  macro-F1 of one against the majority of the others: {np.mean(alone):.3f} "
            f"({min(alone):.3f} to {max(alone):.3f})"
        )
        flags = [[by_annotator(a)[n].matching for n in numbers] for a in ANNOTATORS]
        print(f"  matching: kappa {np.mean(pairs(np.array(flags, dtype=int), kappa)):.3f}")
        agreed = Counter(most_votes(said).tolist())
        print(f"  votes for the majority: {dict(sorted(agreed.items(), reverse=True))}")
        print(f"  labels {dict(Counter(final[n].shape for n in numbers))}")
        print(f"  matching {sum(final[n].matching for n in numbers)}")
    table = sum(
        confusion_matrix(said[a], said[b], labels=range(len(SHAPES)))
        for a, b in combinations(range(len(said)), 2)
    )
    print("all pairs of annotators, counted in both directions")
    for shape, row in zip(SHAPES, table + table.T, strict=True):
        print(f"  {shape:18}", *(f"{cell:5}" for cell in row))
    doubtful = [n for n in kinds["all"] if final[n].votes == len(EVERYBODY)]
    print(f"share of each shape, by annotator, of the {len(doubtful)} maps that all of them saw")
    for annotator, one in zip(EVERYBODY, votes_on(doubtful, EVERYBODY), strict=True):
        shares = np.bincount(one, minlength=len(SHAPES)) / len(doubtful)
        print(f"  {annotator:2}", *(f"{SHAPES[n]} {share:.2f}" for n, share in enumerate(shares)))
    learned = [n for n in final if not drawn[n].judged]
    one, other = FURTHER[:2]
    alike = agree(*votes_on(learned, (one, other)))
    print(f"for training only: {len(learned)} maps; {one} and {other} agree on {alike:.3f}")


if __name__ == "__main__":
    main()
