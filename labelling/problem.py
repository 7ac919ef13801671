"""The learning problem of the classifier: features of maps, and the labels of annotators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses._shapes.classifier import SHAPES
from headscope.analyses._shapes.counterparts import counterpart_features
from headscope.analyses._shapes.features import features
from headscope.analyses._shapes.tokens import Tokens
from headscope.model.hooks.workspace import Workspace
from labelling.draw import LONGEST, SHORTEST, Drawn, Shown, read_maps
from labelling.fresh import TRAINING, FreshLabel, read_fresh

FOLDS = 10
BLANKS, FAINT = 60, 0.2
"""How many blank maps there are, and how much their logits vary at most."""
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Problem:
    """Features and labels of a set of maps.

    Attributes:
        number: (map,) which maps.
        given: (map, feature)
        votes: (map, annotator, class) 1 for the class that each of `TRAINING` chose.
        head, text: (map,) must not occur both in a fold and in its training data.
        blank: (map, feature) of maps with nothing on them; nothing: their class.
    """

    number: NDArray[np.int64]
    given: Floats
    votes: Floats
    head: NDArray[np.str_]
    text: NDArray[np.str_]
    blank: Floats
    nothing: int

    def only(self, chosen: Bools) -> Problem:
        """Some of the maps."""
        kept = {name: getattr(self, name)[chosen] for name in ("number", "given", "votes")}
        return replace(self, **kept, head=self.head[chosen], text=self.text[chosen])

    def folds(self) -> Iterator[tuple[Bools, Bools]]:
        """Training and held-out maps."""
        heads = np.unique(self.head)
        drawn = np.random.default_rng(0).permutation(len(heads)) % FOLDS
        fold = drawn[np.searchsorted(heads, self.head)]
        for number in range(FOLDS):
            out = fold == number
            yield (fold != number) & ~np.isin(self.text, self.text[out]), out


def told(shown: Shown) -> Tokens:
    """The tokens of a map."""
    sentence = torch.from_numpy(shown.sentence.astype(np.int64))[None]
    return Tokens(torch.ones_like(sentence, dtype=torch.bool), sentence >= 0, sentence == 1)


def features_of(shown: Shown, counterparts: bool = False) -> dict[str, float]:
    """The features of a map, or those of its counterparts, by name."""
    weights = torch.from_numpy(shown.weights).float()[None, None]
    if counterparts:
        same = torch.from_numpy(shown.token.astype(np.int64))[None]
        values = counterpart_features(weights, told(shown), same, Workspace())
    else:
        values = features(weights, told(shown), Workspace())
    return {name: float(value[0, 0]) for name, value in values.items()}


def measured(shown: list[Shown], counterparts: bool) -> Floats:
    """(map, feature)"""
    return np.array([list(features_of(one, counterparts).values()) for one in shown])


def blanks() -> Iterator[Shown]:
    """Maps with almost uniform rows, like those of a model with random weights."""
    rng = np.random.default_rng(0)
    for _ in range(BLANKS):
        size = int(rng.integers(SHORTEST, LONGEST + 1))
        logits = rng.normal(size=(1, size)) + rng.normal(size=(size, size))
        weights = np.exp(logits * rng.uniform(0, FAINT))
        sentence = (np.arange(size) >= size * rng.choice([0.4, 0.6, 1])).astype(np.int8)
        sentence[[0, -1]] = -1
        token = np.arange(size, dtype=np.int16)
        yield Shown(weights / weights.sum(1, keepdims=True), sentence, token)


def class_of(name: str, label: FreshLabel) -> int:
    """The class of a label: its shape, or whether it is flagged."""
    return int(label.matching) if name == "matching" else SHAPES.index(label.shape)


def problems() -> dict[str, Problem]:
    """The five shapes; and matching, on pairs."""
    drawn, shown = read_maps()
    labels = [read_fresh(annotator) for annotator in TRAINING]
    known = sorted(set().union(*labels))
    made = {}
    for name, classes in (("shape", len(SHAPES)), ("matching", 2)):
        matching = name == "matching"
        numbers = [n for n in known if not matching or (shown[n].sentence == 1).any()]
        votes = np.zeros((len(numbers), len(labels), classes))
        for place, number in enumerate(numbers):
            for annotator, labelled in enumerate(labels):
                if number in labelled:
                    votes[place, annotator, class_of(name, labelled[number])] = 1
        made[name] = Problem(
            np.array(numbers),
            measured([shown[n] for n in numbers], matching),
            votes,
            np.array([head_of(drawn[n]) for n in numbers]),
            np.array([f"{drawn[n].source} {drawn[n].text}" for n in numbers]),
            measured(list(blanks()), matching),
            0 if matching else SHAPES.index("heterogeneous"),
        )
    return made


def head_of(one: Drawn) -> str:
    """A head; the same before and after fine-tuning."""
    return f"{one.model.removesuffix(f'-{one.tuned}')} {one.layer} {one.head}"
