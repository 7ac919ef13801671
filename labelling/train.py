"""Train the pattern classifier on the labelled maps, and print how accurate it is.

    python -m labelling.train             cross-validation, then the weights that ship
    python -m labelling.train --check     only check that the shipped weights are reproduced
    python -m labelling.train --wrong F   also draw 20 maps that it gets wrong

Folds are split by head (a head before and after fine-tuning is one head), and the texts of a fold
are excluded from training as well. Networks learn what the annotators of `labelling.fresh` call a
map; each vote is modelled as that of the annotator who gave it. The held-out maps are neither
trained on nor scored here (`labelling.held_out` does). The training data also include some blank
maps, since no sampled model shows any; no score includes these.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from headscope.analyses._shapes import classifier
from headscope.analyses._shapes.classifier import SHAPES
from labelling.draw import read_maps
from labelling.fresh import SECOND, TRAINING
from labelling.networks import Recipe, Rows, alone, fitted, predicted
from labelling.problem import FOLDS, Floats, Problem, problems
from labelling.scores import Labels, confused, each_f1, flag_f1, interval, macro_f1, table
from labelling.sheets import SMALL, sheet

WEIGHTS = Path(classifier.__file__).parent / classifier.WEIGHTS
RECIPES = {
    "shape": Recipe(),
    "matching": Recipe(hidden=32, balance=0.6, decay=0.1, drop=0.2, smooth=0.05),
}
CLASSES = {"shape": SHAPES, "matching": ("no", "yes")}
SCORES = {"shape": macro_f1, "matching": flag_f1}
SHORT = ("vertical", "diagonal", "vert+diag", "block", "heterog.")


def rows_of(problem: Problem, recipe: Recipe) -> tuple[Rows, Rows]:
    """Maps with their votes, and blank ones with unanimous votes."""
    total = problem.votes.sum((1, 2))
    label = problem.votes.sum(1).argmax(1)
    rare = np.maximum(np.bincount(label, total, problem.votes.shape[2]), 1.0) ** -recipe.balance
    blank = np.zeros((len(problem.blank), *problem.votes.shape[1:]))
    blank[..., problem.nothing] = 1
    targets = []
    for votes in (problem.votes, blank):
        even = votes.any(-1, keepdims=True) / votes.shape[-1]
        target = votes * (1 - recipe.smooth) + even * recipe.smooth
        targets.append(target / votes.sum((1, 2), keepdims=True))
    return (
        Rows(problem.given, targets[0], rare[label] * total),
        Rows(problem.blank, targets[1], np.full(len(blank), rare[problem.nothing])),
    )


def learn(name: str, problem: Problem) -> dict[str, Tensor]:
    """Networks that call maps what annotators call them."""
    return fitted(*rows_of(problem, RECIPES[name]), RECIPES[name])


def cross_validated(name: str, problem: Problem) -> tuple[Floats, Floats]:
    """Probabilities by networks that have seen neither head nor text.

    Folds are worked off side by side.

    Returns:
        (map, class) by all networks together; (network, map, class) by each alone.
    """
    classes, many = problem.votes.shape[2], RECIPES[name].networks
    together = np.zeros((len(problem.number), classes))
    each = np.zeros((many, len(problem.number), classes))
    folds = list(problem.folds())
    with ProcessPoolExecutor(initializer=torch.set_num_threads, initargs=(1,)) as pool:
        parts = [problem.only(inside) for inside, _ in folds]
        for (_, out), learned in zip(folds, pool.map(learn, [name] * FOLDS, parts), strict=True):
            together[out] = predicted(learned, problem.given[out])
            each[:, out] = [predicted(one, problem.given[out]) for one in alone(learned)]
    return together, each


def tell(name: str, problem: Problem, found: Floats, each_alone: Floats) -> None:
    """Print scores against single votes, and how two annotators of the same maps compare."""
    place, _, label = np.nonzero(problem.votes)
    score, classes, guess = SCORES[name], CLASSES[name], found.argmax(1)[place]
    low, high = interval(lambda some: score(label[some], guess[some]), problem.head[place])
    print(f"{name}: {len(found)} maps, {len(label)} votes, {FOLDS} folds by head and text")
    print(f"  accuracy {np.mean(label == guess):.3f}")
    print(f"  F1 {score(label, guess):.3f} [{low:.3f}, {high:.3f}]")
    if name == "shape":
        each = zip(classes, each_f1(label, guess), strict=True)
        print("  F1 of", ", ".join(f"{shape} {value:.2f}" for shape, value in each))
    single = [score(label, one.argmax(1)[place]) for one in each_alone]
    print(f"  each network alone {np.mean(single):.3f} ({min(single):.3f} to {max(single):.3f})")
    likelihood = np.log(np.maximum(found[place, label], 1e-9)).mean()
    print(f"  mean log likelihood of a vote {likelihood:.3f}")
    compare_second(name, problem, found.argmax(1))
    print("  rows: votes, columns: classifier")
    print(*table(label, guess, classes), sep="\n")
    calibration(problem, found)


def compare_second(name: str, problem: Problem, guess: Labels) -> None:
    """Print scores on the maps that two fresh annotators labelled."""
    score, votes = SCORES[name], problem.votes
    pairs = [(TRAINING.index(one), TRAINING.index(other)) for one, other in SECOND.items()]
    places = [np.nonzero(votes[:, one].any(1) & votes[:, other].any(1))[0] for one, other in pairs]
    first, second = (
        np.concatenate(
            [votes[at, pair[turn]].argmax(1) for at, pair in zip(places, pairs, strict=True)]
        )
        for turn in (0, 1)
    )
    ours = guess[np.concatenate(places)]
    agreed = first == second
    print(f"  on {len(ours)} maps with a second opinion:")
    print(f"    one annotator against the other {score(first, second):.3f}")
    print(f"    classifier against the first {score(first, ours):.3f}")
    print(f"    classifier against the second {score(second, ours):.3f}")
    both = score(first[agreed], ours[agreed])
    print(f"    classifier against both where they agree ({agreed.sum()}) {both:.3f}")
    if name == "shape":
        print(
            f"    vertical against heterogeneous: {confused(first, second)} between annotators, "
            f"{confused(first, ours)} and {confused(second, ours)} with the classifier"
        )


def calibration(problem: Problem, found: Floats) -> None:
    """Print how often votes are for the likeliest class, by its probability."""
    place, _, label = np.nonzero(problem.votes)
    best, right = found.max(1)[place], found.argmax(1)[place] == label
    print("  calibration: probability of the likeliest class, share of votes for it")
    for low, high in ((0, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01)):
        inside = (best >= low) & (best < high)
        if inside.any():
            print(f"  {best[inside].mean():.2f} {right[inside].mean():.2f} ({inside.sum()})")


def wrong(problem: Problem, found: Floats, path: Path) -> None:
    """Draw maps on which two annotators agree and the classifier is most confidently wrong."""
    votes: NDArray[np.float64] = problem.votes.sum(1)
    label, guess = votes.argmax(1), found.argmax(1)
    missed = np.nonzero((votes.max(1) == 2) & (guess != label))[0]
    order = missed[np.argsort(found[missed, label[missed]])][: SMALL.maps].tolist()
    numbers = problem.number[order].tolist()
    captions = {
        number: f"{number}: {SHORT[label[n]]}, not {SHORT[guess[n]]}"
        for number, n in zip(numbers, order, strict=True)
    }
    sheet(read_maps()[1], numbers, captions).save(path)


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
            tell(name, problem, found, each_alone)
            if asked.wrong and name == "shape":
                wrong(problem, found, asked.wrong)
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
