"""The learning problem of the classifier: features of maps, and the votes of annotators."""

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
from labelling.votes import ANNOTATORS, EVERYBODY, Answers, Label, Vote, by_map, labels

FOLDS = 10
BLANKS, FAINT = 60, 0.2
"""How many blank maps there are, and how much their logits vary at most."""
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Problem:
    """Features, votes and labels of a set of maps.

    Attributes:
        number: (map,) which maps; the guide's examples are not among them.
        given: (map, feature)
        votes: (map, annotator, answer) 1 for the set of answers to the guide's questions that each
            of `EVERYBODY` gave.
        names: (answer, class) 1 for the class that follows from the answers.
        said: (annotator, map) the class that each of `ANNOTATORS` named; -1 where none did.
        label: (map,) the class that counts.
        judged: (map,) whether scores include it; the others are for training only.
        head, text: (map,) must not occur both in a fold and in its training data.
        blank: (map, feature) of maps with nothing on them; nothing: their place among the answers.
    """

    number: NDArray[np.int64]
    given: Floats
    votes: Floats
    names: Floats
    said: NDArray[np.int64]
    label: NDArray[np.int64]
    judged: Bools
    head: NDArray[np.str_]
    text: NDArray[np.str_]
    blank: Floats
    nothing: int

    def only(self, chosen: Bools) -> Problem:
        """Some of the maps."""
        kept = {
            name: getattr(self, name)[chosen]
            for name in ("number", "given", "votes", "label", "judged", "head", "text")
        }
        return replace(self, **kept, said=self.said[:, chosen])

    def folds(self) -> Iterator[tuple[Bools, Bools]]:
        """Training and held-out maps."""
        heads = np.unique(self.head)
        drawn = np.random.default_rng(0).permutation(len(heads)) % FOLDS
        fold = drawn[np.searchsorted(heads, self.head)]
        for number in range(FOLDS):
            out = (fold == number) & self.judged
            yield (fold != number) & ~np.isin(self.text, self.text[out]), out


def told(shown: Shown) -> Tokens:
    sentence = torch.from_numpy(shown.sentence.astype(np.int64))[None]
    return Tokens(torch.ones_like(sentence, dtype=torch.bool), sentence >= 0, sentence == 1)


def measured(shown: list[Shown], counterparts: bool) -> Floats:
    """(map, feature)"""
    space, rows = Workspace(), []
    for one in shown:
        weights = torch.from_numpy(one.weights).float()[None, None]
        same = torch.from_numpy(one.token.astype(np.int64))[None]
        found = (
            counterpart_features(weights, told(one), same, space)
            if counterparts
            else features(weights, told(one), space)
        )
        rows.append([float(value[0, 0]) for value in found.values()])
    return np.array(rows)


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


def problems() -> dict[str, Problem]:
    """The five shapes; and matching, on pairs."""
    drawn, shown = read_maps()
    final, votes = labels(), by_map()
    made = {}
    for name in ("shape", "matching"):
        matching = name == "matching"
        places = [n for n in final if not matching or (shown[n].sentence == 1).any()]

        def answered(vote: Vote, matching: bool = matching) -> Answers:
            return (vote.matching,) if matching else vote.answers

        def named(one: Vote | Label, matching: bool = matching) -> int:
            return int(one.matching) if matching else SHAPES.index(one.shape)

        some = [votes[n] for n in places]
        known = sorted({answered(vote): named(vote) for one in some for vote in one}.items())
        kinds = [answers for answers, _ in known]
        said = [{vote.annotator: named(vote) for vote in one} for one in some]
        made[name] = Problem(
            np.array(places),
            measured([shown[n] for n in places], matching),
            voted(
                [{vote.annotator: kinds.index(answered(vote)) for vote in one} for one in some],
                len(kinds),
            ),
            np.eye(1 + max(shape for _, shape in known))[[shape for _, shape in known]],
            np.array([[one.get(annotator, -1) for one in said] for annotator in ANNOTATORS]),
            np.array([named(final[n]) for n in places]),
            np.array([drawn[n].judged for n in places]),
            np.array([head_of(drawn[n]) for n in places]),
            np.array([f"{drawn[n].source} {drawn[n].text}" for n in places]),
            measured(list(blanks()), matching),
            next(place for place, answers in enumerate(kinds) if not any(answers)),
        )
    return made


def voted(given: list[dict[int, int]], answers: int) -> Floats:
    """(map, annotator, answer) from the index of the answer that each annotator gave."""
    votes = np.zeros((len(given), len(EVERYBODY), answers))
    for place, one in enumerate(given):
        for annotator, answer in one.items():
            votes[place, EVERYBODY.index(annotator), answer] = 1
    return votes


def head_of(one: Drawn) -> str:
    """A head; the same before and after fine-tuning."""
    return f"{one.model.removesuffix(f'-{one.tuned}')} {one.layer} {one.head}"
