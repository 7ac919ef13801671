"""Train the pattern classifier on the labelled maps, and print how accurate it is.

    python -m labelling.train             cross-validation, then the weights that ship
    python -m labelling.train --check     only check that the shipped weights are reproduced
    python -m labelling.train --wrong F   also draw 20 maps that it gets wrong

Folds are split by head (a head before and after fine-tuning is one head), and the texts of a fold
are excluded from training as well. Networks learn how annotators answer the guide's four questions
jointly; the shape follows from the answers by the guide's table. Each vote is modelled as that of
the annotator who gave it, and a map is weighted by its number of votes. The training data also
include maps that were selected because a classifier was uncertain about them, and some blank maps,
since no sampled model shows any; no score includes these.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from sklearn.metrics import confusion_matrix, f1_score
from torch import Tensor

from headscope.analyses._shapes import classifier
from headscope.analyses._shapes.classifier import SHAPES
from labelling.agreement import against_others, macro, most_votes
from labelling.draw import read_maps
from labelling.networks import Recipe, Rows, alone, fitted, predicted
from labelling.problem import FOLDS, Floats, Problem, problems
from labelling.sheets import SMALL, sheet
from labelling.votes import ANNOTATORS

WEIGHTS = Path(classifier.__file__).parent / classifier.WEIGHTS
TIMES, SPLITS = 2000, 100
RECIPES = {
    "shape": Recipe(),
    "matching": Recipe(hidden=32, balance=0.6, decay=0.1, drop=0.2, smooth=0.05),
}


def rows_of(problem: Problem, recipe: Recipe) -> tuple[Rows, Rows]:
    """Maps with their votes, and blank ones with unanimous votes."""
    rare = np.maximum(np.bincount(problem.label), 1.0) ** -recipe.balance
    blank = np.zeros((len(problem.blank), *problem.votes.shape[1:]))
    blank[..., problem.nothing] = 1
    targets = []
    for votes in (problem.votes, blank):
        even = votes.any(-1, keepdims=True) / votes.shape[-1]
        target = votes * (1 - recipe.smooth) + even * recipe.smooth
        targets.append(target / votes.sum((1, 2), keepdims=True))
    counts = np.minimum(problem.votes.sum((1, 2)) / len(ANNOTATORS), 1.0)
    alike = np.full(len(blank), rare[problem.names[problem.nothing].argmax()])
    return (
        Rows(problem.given, targets[0], rare[problem.label] * counts),
        Rows(problem.blank, targets[1], alike),
    )


def learn(name: str, problem: Problem) -> dict[str, Tensor]:
    """Networks that answer as annotators do."""
    return fitted(*rows_of(problem, RECIPES[name]), problem.names, RECIPES[name])


def cross_validated(name: str, problem: Problem) -> tuple[Floats, Floats]:
    """Probabilities by networks that have seen neither head nor text.

    Folds are worked off side by side.

    Returns:
        (map, class) by all networks together; (network, map, class) by each alone.
    """
    classes, many = problem.names.shape[1], RECIPES[name].networks
    together = np.zeros((len(problem.label), classes))
    each = np.zeros((many, len(problem.label), classes))
    folds = list(problem.folds())
    with ProcessPoolExecutor(initializer=torch.set_num_threads, initargs=(1,)) as pool:
        parts = [problem.only(inside) for inside, _ in folds]
        for (_, out), learned in zip(folds, pool.map(learn, [name] * FOLDS, parts), strict=True):
            together[out] = predicted(learned, problem.given[out])
            each[:, out] = [predicted(one, problem.given[out]) for one in alone(learned)]
    return together[problem.judged], each[:, problem.judged]


def interval(problem: Problem, guess: NDArray[np.int64]) -> tuple[float, float]:
    """Interval of macro-F1, by a bootstrap over heads."""
    rng, heads = np.random.default_rng(0), np.unique(problem.head)
    places = [np.nonzero(problem.head == head)[0] for head in heads]
    drawn = []
    for _ in range(TIMES):
        chosen = np.concatenate([places[n] for n in rng.integers(0, len(heads), len(heads))])
        drawn.append(f1_score(problem.label[chosen], guess[chosen], average="macro"))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def tell(name: str, problem: Problem, found: Floats, each_alone: Floats) -> None:
    """Print scores, the confusion matrix and calibration."""
    guess, label = found.argmax(1), problem.label
    classes = SHAPES if name == "shape" else ("no", "yes")
    each = f1_score(label, guess, average=None)
    low, high = interval(problem, guess)
    print(f"{name}: {len(label)} maps, {FOLDS} folds by head and text")
    print(
        f"  accuracy {np.mean(label == guess):.3f}, macro-F1 {each.mean():.3f} "
        f"[{low:.3f}, {high:.3f}]"
    )
    print("  F1", ", ".join(f"{c} {f:.2f}" for c, f in zip(classes, each, strict=True)))
    single = [macro(label, one.argmax(1)) for one in each_alone]
    print(
        f"  each network alone: macro-F1 {np.mean(single):.3f} "
        f"({min(single):.3f} to {max(single):.3f})"
    )
    total = len(ANNOTATORS)
    for least in (total, total - 1):
        sure = most_votes(problem.said) >= least
        print(
            f"  where at least {least} of {total} annotators agree ({sure.sum()}): "
            f"accuracy {np.mean(label[sure] == guess[sure]):.3f}, "
            f"macro-F1 {macro(label[sure], guess[sure]):.3f}"
        )
    print(
        "  naming the likeliest class, if annotators voted with these probabilities: "
        f"macro-F1 {known(found):.3f}"
    )
    if name == "shape":
        against_annotators(problem, guess)
    print("  rows: label, columns: classifier")
    for shape, row in zip(classes, confusion_matrix(label, guess), strict=True):
        print(f"  {shape:18}", *(f"{cell:5}" for cell in row))
    best = found.max(1)
    print("  calibration: probability of the likeliest class, how often it is right")
    for low, high in ((0, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01)):
        inside = (best >= low) & (best < high)
        if inside.any():
            right = np.mean(label[inside] == guess[inside])
            print(f"  {best[inside].mean():.2f} {right:.2f} ({inside.sum()})")
    off = np.abs(found - np.eye(found.shape[1])[label]).sum() / 2 / len(label)
    print(f"  mean distance of probabilities from the label {off:.3f}")


def known(found: Floats) -> float:
    """The macro-F1 of always naming the likeliest class against the majority of annotators, if they
    voted with these probabilities.
    """
    rng, total = np.random.default_rng(0), len(ANNOTATORS)
    drawn = rng.multinomial(total, found / found.sum(1, keepdims=True), size=(SPLITS, len(found)))
    return float(np.mean([macro(one.argmax(1), found.argmax(1)) for one in drawn]))


def against_annotators(problem: Problem, guess: NDArray[np.int64]) -> None:
    """Print the scores of each annotator, and of the classifier, against the other annotators."""
    said, places = problem.said, range(len(ANNOTATORS))
    one = np.mean([against_others(said, place, said[place]) for place in places])
    ours = np.mean([against_others(said, place, guess) for place in places])
    print(f"  against the majority of the others: an annotator {one:.3f}, classifier {ours:.3f}")
    each = [macro(said, guess) for said in problem.said]
    print(f"  against one annotator: {np.mean(each):.3f} ({min(each):.3f} to {max(each):.3f})")


def wrong(problem: Problem, found: Floats, path: Path) -> None:
    """Draw maps on which annotators agree and the classifier is most confidently wrong."""
    guess = found.argmax(1)
    sure = most_votes(problem.said) == len(ANNOTATORS)
    missed = np.nonzero(sure & (guess != problem.label))[0]
    order = missed[np.argsort(found[missed, problem.label[missed]])][: SMALL.maps].tolist()
    numbers = problem.number[order].tolist()
    captions = {
        number: f"{number}: {SHORT[problem.label[n]]}, not {SHORT[guess[n]]}"
        for number, n in zip(numbers, order, strict=True)
    }
    sheet(read_maps()[1], numbers, captions).save(path)


SHORT = ("vertical", "diagonal", "vert+diag", "block", "heterog.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--wrong", type=Path, help="draw 20 maps that it gets wrong here")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    tensors: dict[str, Tensor] = {}
    for name, problem in problems().items():
        if not asked.check:
            found, each_alone = cross_validated(name, problem)
            judged = problem.only(problem.judged)
            tell(name, judged, found, each_alone)
            if asked.wrong and name == "shape":
                wrong(judged, found, asked.wrong)
        made = learn(name, problem)
        tensors |= {f"{name} {key}": one.contiguous() for key, one in made.items()}
    if asked.check:
        before = load_file(WEIGHTS)
        far = max(float((before[key] - one).abs().max()) for key, one in tensors.items())
        print(f"the shipped weights differ from the new ones by at most {far:.4f}")
        return
    save_file(tensors, WEIGHTS)
    print(f"{sum(one.numel() for one in tensors.values()):,} numbers in {WEIGHTS.name}")


if __name__ == "__main__":
    main()
