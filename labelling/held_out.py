"""How well the classifier agrees with fresh annotators on maps that nobody trained on.

    python -m labelling.held_out                  the weights that ship
    python -m labelling.held_out --before FILE    beside them, earlier weights

Texts and maps are new, most heads are not. Scores are macro-F1 over the four frequent shapes, with
intervals by a bootstrap over heads; those of an annotator are against the majority of the others.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load_file

from headscope.analyses._shapes.classifier import SHAPES
from labelling.agreement import most_say
from labelling.draw import HELD_OUT, UNTUNED, read_maps
from labelling.fresh import HELD_OUT as ANNOTATORS
from labelling.fresh import read_fresh
from labelling.networks import predicted
from labelling.problem import class_of, head_of, measured
from labelling.scores import Labels, confused, each_f1, flag_f1, interval, macro_f1, table
from labelling.train import WEIGHTS


@dataclass(frozen=True)
class HeldOut:
    """The held-out maps.

    Attributes:
        model, head: (map,) where each comes from.
        pair: (map,) whether it is of two sentences.
        shapes, flags: (annotator, map) what the annotators chose.
    """

    model: NDArray[np.str_]
    head: NDArray[np.str_]
    pair: NDArray[np.bool_]
    shapes: Labels
    flags: Labels


def held_out() -> HeldOut:
    """What the annotators call the held-out maps."""
    drawn, shown = read_maps()
    maps = [one for one in drawn if one.how == HELD_OUT]
    labels = [[read_fresh(annotator)[one.number] for one in maps] for annotator in ANNOTATORS]
    return HeldOut(
        np.array([one.model for one in maps]),
        np.array([head_of(one) for one in maps]),
        np.array([bool((shown[one.number].sentence == 1).any()) for one in maps]),
        np.array([[class_of("shape", label) for label in row] for row in labels]),
        np.array([[class_of("matching", label) for label in row] for row in labels]),
    )


def guesses(weights: Path, name: str) -> Labels:
    """(map,) what networks call the held-out maps: their shapes, or whether they are flagged.

    Earlier weights know only the first features.
    """
    drawn, shown = read_maps()
    tensors = load_file(weights)
    part = {key.removeprefix(f"{name} "): one for key, one in tensors.items() if f"{name} " in key}
    some = [shown[one.number] for one in drawn if one.how == HELD_OUT]
    given = measured(some, name == "matching")[:, : len(part["mean"])]
    return np.asarray(predicted(part, given).argmax(1))


def told(label: Labels, guess: Labels, head: NDArray[np.str_]) -> str:
    """Macro-F1 with its interval, over the maps that have a label."""
    there = np.nonzero(label >= 0)[0]
    label, guess, head = label[there], guess[there], head[there]
    low, high = interval(lambda some: macro_f1(label[some], guess[some]), head)
    return f"{macro_f1(label, guess):.3f} [{low:.3f}, {high:.3f}]"


def print_shapes(maps: HeldOut, guess: Labels) -> None:
    """Print scores and confusion of some guesses."""
    print(f"  against {'':17} all maps             " + "  ".join(f"{name:10}" for name in UNTUNED))
    columns = dict(zip(ANNOTATORS, maps.shapes, strict=True)) | {"majority": most_say(maps.shapes)}
    for name, label in columns.items():
        models = [(maps.model == model) & (label >= 0) for model in UNTUNED]
        each = "  ".join(f"{macro_f1(label[some], guess[some]):<10.3f}" for some in models)
        print(f"    {name:8} ({(label >= 0).sum()} maps) {told(label, guess, maps.head)}  {each}")
    others = against_others(maps, [guess] * len(ANNOTATORS))
    print(f"  against the majority of three: {others}")
    whole = columns["majority"]
    there = whole >= 0
    print(f"  accuracy against the majority {np.mean(whole[there] == guess[there]):.3f}")
    print("  F1 of each shape", *(f"{value:.2f}" for value in each_f1(whole[there], guess[there])))
    print("  rows: majority, columns: classifier")
    print(*table(whole[there], guess[there]), sep="\n")
    each_annotator = [confused(label, guess) for label in maps.shapes]
    print(
        f"  vertical taken for heterogeneous or the reverse: {confused(whole[there], guess[there])}"
        f" against the majority, {each_annotator} against each annotator"
    )


def against_others(maps: HeldOut, guess: list[Labels]) -> str:
    """Scores against the majority of three annotators, leaving each of them out in turn.

    Args:
        guess: for each annotator that is left out, (map,) what is compared with the others.
    """
    found = []
    for place, one in enumerate(guess):
        label = most_say(np.delete(maps.shapes, place, 0))
        found.append(macro_f1(label[label >= 0], one[label >= 0]))
    return ", ".join(f"{value:.3f}" for value in found) + f"; mean {np.mean(found):.3f}"


def print_annotators(maps: HeldOut) -> None:
    """Print how well the annotators agree, and how often each chose each shape."""
    print("annotators")
    for name, one in zip(ANNOTATORS, maps.shapes, strict=True):
        counts = np.bincount(one, minlength=len(SHAPES)).tolist()
        chosen = ", ".join(f"{n} {shape}" for shape, n in zip(SHAPES, counts, strict=True))
        print(f"  {name}: {chosen}")
    for place, one in enumerate(maps.shapes):
        each = [macro_f1(other, one) for n, other in enumerate(maps.shapes) if n != place]
        label = most_say(np.delete(maps.shapes, place, 0))
        print(
            f"  {ANNOTATORS[place]} against the others "
            + ", ".join(f"{value:.3f}" for value in each)
            + f"; against their majority {told(label, one, maps.head)}"
        )
    print(f"  against the majority of three: {against_others(maps, list(maps.shapes))}")
    pairs = [(one, other) for n, one in enumerate(maps.shapes) for other in maps.shapes[:n]]
    print(f"  vertical against heterogeneous, each pair: {[confused(*pair) for pair in pairs]}")


def print_change(maps: HeldOut, before: Labels, after: Labels) -> None:
    """Print what new weights change against the majority, with paired intervals."""
    label = most_say(maps.shapes)
    there = np.nonzero(label >= 0)[0]
    label, head = label[there], maps.head[there]
    before, after = before[there], after[there]

    def gain(some: Labels) -> float:
        return macro_f1(label[some], after[some]) - macro_f1(label[some], before[some])

    low, high = interval(gain, head)
    every = np.arange(len(label))
    print(f"change of macro-F1 against the majority {gain(every):+.3f} [{low:+.3f}, {high:+.3f}]")
    print(
        "change of maps confused between vertical and heterogeneous: "
        f"{confused(label, before)} to {confused(label, after)}"
    )


def print_flags(maps: HeldOut, guess: Labels) -> None:
    """Print scores of the flag matching, on pairs."""
    flags, guess = maps.flags[:, maps.pair], guess[maps.pair]
    label = (flags.sum(0) * 2 > len(flags)).astype(int)
    hits = int((label & guess).sum())
    print(f"  matching, {len(label)} pairs: F1 {flag_f1(label, guess):.3f} against the majority")
    counts = f"{label.sum()} by the majority, {guess.sum()} by the classifier, {hits} by both"
    print(f"    flagged: {counts}")
    print("    against each annotator", *(f"{flag_f1(one, guess):.3f}" for one in flags))
    rest = [np.delete(flags, place, 0).sum(0) * 2 > len(flags) - 1 for place in range(len(flags))]
    alone = [flag_f1(other.astype(int), one) for other, one in zip(rest, flags, strict=True)]
    print("    an annotator against the majority of the others", *(f"{one:.3f}" for one in alone))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="earlier weights to compare with")
    asked = parser.parse_args()
    maps = held_out()
    print(f"{len(maps.head)} maps of {len(np.unique(maps.head))} heads")
    print_annotators(maps)
    files = {"the weights that ship": WEIGHTS}
    if asked.before:
        files["earlier weights"] = asked.before
    shapes = {name: guesses(file, "shape") for name, file in files.items()}
    for name, file in files.items():
        print(name)
        print_shapes(maps, shapes[name])
        print_flags(maps, guesses(file, "matching"))
    if asked.before:
        print_change(maps, shapes["earlier weights"], shapes["the weights that ship"])


if __name__ == "__main__":
    main()
