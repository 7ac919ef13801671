"""Train the pattern classifier on the labelled maps, and tell how good it is.

    python -m labelling.train             cross-validation, then the weights that ship
    python -m labelling.train --check     nothing but: are the weights that ship those of today?
    python -m labelling.train --wrong F   draw 20 maps that it gets wrong as well

Folds are split by head (a head before and after fine-tuning is one head), and no text of a fold
is trained on either. Targets are the shares of the annotators' votes. Some blank maps are trained
on besides, since no model that was drawn from shows any; no score counts them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from sklearn.metrics import confusion_matrix, f1_score
from torch import Tensor

from headscope.analyses import patterns
from headscope.analyses.patterns import SHAPES, Classifier
from headscope.analyses.shape_features import Tokens, features
from headscope.analyses.twins import twin_features
from headscope.model.workspace import Workspace
from labelling.agreement import against_others, macro
from labelling.draw import LONGEST, SHORTEST, Drawn, Shown, read_maps
from labelling.sheets import SMALL, sheet
from labelling.votes import ANNOTATORS, Label, Vote, by_map, labels

WEIGHTS = Path(patterns.__file__).parent / patterns.WEIGHTS
FOLDS, TIMES, SPLITS = 10, 2000, 100
BLANKS, FAINT = 60, 0.2
"""How many blank maps there are, and how much their logits vary at most."""
DIGITS = 4
"""Decimals of the weights that ship. They are the same whenever they are made on one machine; on
another one, rounding may lead the training elsewhere."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Recipe:
    """How some small networks are trained.

    Attributes:
        networks, hidden: how many, and how wide.
        balance: classes weigh by their number to minus this power.
        smooth: of every target goes to all classes alike.
    """

    networks: int = 6
    hidden: int = 96
    steps: int = 400
    rate: float = 0.01
    decay: float = 0.1
    drop: float = 0.2
    balance: float = 0.3
    smooth: float = 0.05
    seed: int = 0


@dataclass(frozen=True)
class Problem:
    """What is to be learned.

    Attributes:
        number: (map,) which maps; the guide's examples are not among them.
        given: (map, feature)
        said: (annotator, map) the class that each annotator named.
        label: (map,) the class that counts.
        head, text: (map,) what may not be both in a fold and in what is trained on.
        blank: (map, feature) of maps with nothing on them; nothing: the class of these.
    """

    number: NDArray[np.int64]
    given: Floats
    said: NDArray[np.int64]
    label: NDArray[np.int64]
    head: NDArray[np.str_]
    text: NDArray[np.str_]
    blank: Floats
    nothing: int

    @cached_property
    def votes(self) -> Floats:
        """(map, class) shares of the votes."""
        return np.stack([(self.said == one).mean(0) for one in range(self.said.max() + 1)], 1)

    def folds(self) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """What is trained on and what is held out."""
        heads = np.unique(self.head)
        drawn = np.random.default_rng(0).permutation(len(heads)) % FOLDS
        fold = drawn[np.searchsorted(heads, self.head)]
        for number in range(FOLDS):
            out = fold == number
            yield ~out & ~np.isin(self.text, self.text[out]), out


def told(shown: Shown) -> Tokens:
    sentence = torch.from_numpy(shown.sentence.astype(np.int64))[None]
    return Tokens(torch.ones_like(sentence, dtype=torch.bool), sentence >= 0, sentence == 1)


def measured(shown: list[Shown], twins: bool) -> Floats:
    """(map, feature)"""
    space, rows = Workspace(), []
    for one in shown:
        weights = torch.from_numpy(one.weights).float()[None, None]
        same = torch.from_numpy(one.token.astype(np.int64))[None]
        found = (
            twin_features(weights, told(one), same, space)
            if twins
            else features(weights, told(one), space)
        )
        rows.append([float(value[0, 0]) for value in found.values()])
    return np.array(rows)


def blanks() -> Iterator[Shown]:
    """Maps whose rows look at all tokens nearly alike, as those of a model with random weights."""
    rng = np.random.default_rng(0)
    for _ in range(BLANKS):
        size = int(rng.integers(SHORTEST, LONGEST + 1))
        logits = rng.normal(size=(1, size)) + rng.normal(size=(size, size))
        weights = np.exp(logits * rng.uniform(0, FAINT))
        sentence = (np.arange(size) >= size * rng.choice([0.4, 0.6, 1])).astype(np.int8)
        sentence[[0, -1]] = -1
        token = np.arange(size, dtype=np.int16)
        yield Shown(weights / weights.sum(1, keepdims=True), sentence, token)


def problems() -> dict[str, Problem]:
    """The five shapes; and matching, on pairs."""
    drawn, shown = read_maps()
    final, votes = labels(), by_map()
    made = {}
    for name in ("shape", "matching"):
        matching = name == "matching"
        places = [n for n in final if not matching or (shown[n].sentence == 1).any()]

        def named(one: Vote | Label, matching: bool = matching) -> int:
            return int(one.matching) if matching else SHAPES.index(one.shape)

        made[name] = Problem(
            np.array(places),
            measured([shown[n] for n in places], matching),
            np.array([[named(vote) for vote in votes[n]] for n in places]).T,
            np.array([named(final[n]) for n in places]),
            np.array([head_of(drawn[n]) for n in places]),
            np.array([f"{drawn[n].source} {drawn[n].text}" for n in places]),
            measured(list(blanks()), matching),
            named(Label("heterogeneous", False, 0)),
        )
    return made


def head_of(one: Drawn) -> str:
    """A head; the same before and after fine-tuning."""
    return f"{one.model.removesuffix('-mrpc')} {one.layer} {one.head}"


def train(problem: Problem, chosen: NDArray[np.bool_], recipe: Recipe) -> dict[str, Tensor]:
    """The networks, trained on some of the maps; all of them at once, on all maps at once."""
    drawn = torch.Generator().manual_seed(recipe.seed)
    classes, many = problem.votes.shape[1], len(problem.blank)
    none = np.full(many, problem.nothing)
    given = torch.from_numpy(np.concatenate([problem.given[chosen], problem.blank])).float()
    votes = np.concatenate([problem.votes[chosen], np.eye(classes)[none]])
    target = torch.from_numpy(votes).float() * (1 - recipe.smooth) + recipe.smooth / classes
    label = torch.from_numpy(np.concatenate([problem.label[chosen], none]))
    rare = torch.bincount(label[:-many], minlength=classes).clamp_min(1) ** -recipe.balance
    boot = torch.poisson(torch.ones(recipe.networks, len(label)), generator=drawn) * rare[label]
    mean, scale = given[:-many].mean(0), given[:-many].std(0).clamp_min(0.01)
    flat = ((given - mean) / scale).clamp(-4, 4)

    def matrix(*size: int) -> Tensor:
        spread = size[0] ** -0.5
        made: Tensor = torch.randn(recipe.networks, *size, generator=drawn) * spread
        return made.requires_grad_()

    weights = {"in": matrix(given.shape[1], recipe.hidden), "out": matrix(recipe.hidden, classes)}
    for name in ("in", "out"):
        width = weights[name].shape[-1]
        weights[f"{name} bias"] = torch.zeros(recipe.networks, 1, width, requires_grad=True)
    optimizer = torch.optim.AdamW(weights.values(), recipe.rate, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, recipe.steps)
    for _ in range(recipe.steps):
        hidden = torch.relu(flat @ weights["in"] + weights["in bias"])
        kept = torch.rand(hidden.shape, generator=drawn) > recipe.drop
        scores = hidden * kept / (1 - recipe.drop) @ weights["out"] + weights["out bias"]
        loss = -(boot * (scores.log_softmax(-1) * target).sum(-1)).sum() / boot.sum()
        optimizer.zero_grad()
        torch.autograd.backward(loss * recipe.networks)
        optimizer.step()
        schedule.step()
    found = {name: one.detach() for name, one in weights.items()} | {"mean": mean, "scale": scale}
    return {name: (one * 10**DIGITS).round() / 10**DIGITS for name, one in found.items()}


RECIPES = {"shape": Recipe(), "matching": Recipe(hidden=32, balance=0.6)}


def predicted(tensors: dict[str, Tensor], given: Floats) -> Floats:
    """(map, class) probabilities."""
    one = Classifier({f"shape {name}": tensor for name, tensor in tensors.items()})
    columns = torch.from_numpy(given).float().unbind(-1)
    named = {str(place): column for place, column in enumerate(columns)}
    return np.asarray(one.probabilities(named).double())


def cross_validated(problem: Problem, recipe: Recipe) -> Floats:
    """(map, class) probabilities by networks that have seen neither head nor text."""
    found = np.zeros_like(problem.votes)
    for inside, out in problem.folds():
        found[out] = predicted(train(problem, inside, recipe), problem.given[out])
    return found


def interval(problem: Problem, guess: NDArray[np.int64]) -> tuple[float, float]:
    """Of macro-F1, by a bootstrap over heads."""
    rng, heads = np.random.default_rng(0), np.unique(problem.head)
    places = [np.nonzero(problem.head == head)[0] for head in heads]
    drawn = []
    for _ in range(TIMES):
        chosen = np.concatenate([places[n] for n in rng.integers(0, len(heads), len(heads))])
        drawn.append(f1_score(problem.label[chosen], guess[chosen], average="macro"))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def tell(name: str, problem: Problem, found: Floats) -> None:
    """Print scores, the confusion matrix and calibration."""
    guess, label = found.argmax(1), problem.label
    classes = SHAPES if name == "shape" else ("no", "yes")
    each = f1_score(label, guess, average=None)
    low, high = interval(problem, guess)
    print(f"{name}: {len(label)} maps, {FOLDS} folds by head and text")
    print(f"  accuracy {np.mean(label == guess):.3f}, macro-F1 {each.mean():.3f} "
          f"[{low:.3f}, {high:.3f}]")  # fmt: skip
    print("  F1", ", ".join(f"{c} {f:.2f}" for c, f in zip(classes, each, strict=True)))
    total = len(ANNOTATORS)
    for least in (total, total - 1):
        sure = problem.votes.max(1) * total > least - 0.5
        print(f"  where at least {least} of {total} annotators agree ({sure.sum()}): "
              f"accuracy {np.mean(label[sure] == guess[sure]):.3f}, "
              f"macro-F1 {macro(label[sure], guess[sure]):.3f}")  # fmt: skip
    print("  one who names the likeliest, were these the annotators' probabilities: "
          f"macro-F1 {known(found):.3f}")  # fmt: skip
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
    """The macro-F1, against what most of some annotators say, of one who always names the class
    that annotators name most often, were these the probabilities with which they do.
    """
    rng, total = np.random.default_rng(0), len(ANNOTATORS)
    drawn = rng.multinomial(total, found / found.sum(1, keepdims=True), size=(SPLITS, len(found)))
    return float(np.mean([macro(one.argmax(1), found.argmax(1)) for one in drawn]))


def against_annotators(problem: Problem, guess: NDArray[np.int64]) -> None:
    """Print how each annotator, and the classifier, do against what most others say."""
    said, places = problem.said, range(len(ANNOTATORS))
    one = np.mean([against_others(said, place, said[place]) for place in places])
    ours = np.mean([against_others(said, place, guess) for place in places])
    print(
        f"  against what most other annotators say: an annotator {one:.3f}, classifier {ours:.3f}"
    )
    each = [macro(said, guess) for said in problem.said]
    print(f"  against one annotator: {np.mean(each):.3f} ({min(each):.3f} to {max(each):.3f})")


def wrong(problem: Problem, found: Floats, path: Path) -> None:
    """Draw maps that annotators agree on and the classifier is surest to see otherwise."""
    guess = found.argmax(1)
    missed = np.nonzero((problem.votes.max(1) == 1) & (guess != problem.label))[0]
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
            found = cross_validated(problem, RECIPES[name])
            tell(name, problem, found)
            if asked.wrong and name == "shape":
                wrong(problem, found, asked.wrong)
        made = train(problem, np.ones(len(problem.label), dtype=bool), RECIPES[name])
        tensors |= {f"{name} {key}": one.contiguous() for key, one in made.items()}
    if asked.check:
        before = load_file(WEIGHTS)
        far = max(float((before[key] - one).abs().max()) for key, one in tensors.items())
        print(f"the weights that ship differ from today's by at most {far:.4f}")
        return
    save_file(tensors, WEIGHTS)
    print(f"{sum(one.numel() for one in tensors.values()):,} numbers in {WEIGHTS.name}")


if __name__ == "__main__":
    main()
