"""Training a probe and trying it: batches of like length, early stopping, trees."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from ufal.chu_liu_edmonds import chu_liu_edmonds

from headscope.experiments.probe.probes import (
    KINDS,
    Attention,
    AttentionAndWords,
    Probe,
    Sizes,
    together,
)
from headscope.experiments.probe.sentences import ROOT, Gold, Ints, Sentence, control
from headscope.experiments.probe.word_attention import Looks, WordMaps

Floats = NDArray[np.float64]
EPOCHS, PATIENCE = 20, 2
"""At most so many epochs; stop when so many have brought nothing on the development part."""
IGNORED = -100
SKIPPED = 0.1
"""Of the groups, that a probe skips."""
FEW = 1000
"""Sentences that ways of training are compared on."""


@dataclass(frozen=True)
class Try:
    """How a probe may be trained: the rate of learning, the decay of weights, a hidden layer."""

    rate: float
    decay: float = 0.0
    hidden: int = 128


Run = tuple[Try, int]
TRIES = {
    "attention": (Try(0.01), Try(0.03), Try(0.1), Try(0.3)),
    "attention and words": (Try(0.001), Try(0.003), Try(0.003, 1e-4), Try(0.01)),
    "words and distance": (
        Try(0.001), Try(0.003), Try(0.001, 0.0, 256), Try(0.003, 1e-5, 256),
    ),
}  # fmt: skip
"""What is tried for each probe, and chosen by the development part: as many for each."""


@dataclass
class Part:
    """A part of a treebank: where its words look, and their vectors.

    Attributes:
        table: (type, size) vectors of word types; index: of each sentence, its words' types.
    """

    maps: WordMaps
    table: Tensor
    index: list[Tensor]
    _made: dict[tuple[int, Gold | None], Tensor] = field(default_factory=dict, repr=False)

    def read(self, group: int, probe: Probe) -> tuple[Looks, Tensor]:
        """What a probe is shown of a group."""
        looks = self.maps.read(group) if probe.looks else self.maps.bare(group)
        if (group, None) not in self._made:
            rows = [self.index[place] for place in self.maps.groups[group]]
            self._made[group, None] = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return looks, self.table[self._made[group, None]]

    def target(self, group: int, gold: Gold) -> Tensor:
        """(sentence, word) what is right; `IGNORED` where that is not known."""
        if (group, gold) not in self._made:
            rows = [torch.from_numpy(gold(one)) for one in self.maps.members(group)]
            found = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=IGNORED)
            self._made[group, gold] = found.masked_fill(found < ROOT, IGNORED)
        return self._made[group, gold]


@dataclass(frozen=True)
class Trained:
    """A probe, and how well it does on the development part."""

    probe: Probe
    score: float
    how: Try
    epochs: int


def train(
    kind: str, parts: tuple[Part, Part], gold: Gold, runs: Sequence[Run], *, few: int | None = None
) -> list[Trained]:
    """Train probes of one kind side by side until none gets better on the development part.

    Attention is read once for all of them. Each skips some of the groups, drawn with its own
    seed, so that seeds differ in what is seen when.

    Args:
        runs: how each is trained, and its seed.
        few: learn from so many sentences only.
    """
    learn, test = parts
    going = [_Going(_made(kind, learn, *run), *run) for run in runs]
    groups = [
        {"params": list(one.probe.parameters()), "lr": one.how.rate, "weight_decay": one.how.decay}
        for one in going
    ]
    optimizer, itself = torch.optim.Adam(groups), gold is control
    rng = np.random.default_rng(runs[0][1])
    chosen = rng.permutation(len(learn.maps))
    if few is not None:
        sizes = np.cumsum([len(learn.maps.groups[group]) for group in chosen.tolist()])
        chosen = chosen[: int(np.searchsorted(sizes, few)) + 1]
    for epoch in range(1, EPOCHS + 1):
        still = [one for one in going if epoch - one.last <= PATIENCE]
        for group in rng.permutation(chosen).tolist():
            now = [one.probe for one in still if one.rng.random() >= SKIPPED]
            if not now:
                continue
            scores = together(now, *learn.read(group, now[0]), itself)
            target = learn.target(group, gold).expand(len(now), -1, -1)
            loss = nn.functional.cross_entropy(
                scores.flatten(0, 2), target.flatten(), ignore_index=IGNORED
            )
            optimizer.zero_grad()
            torch.autograd.backward(loss * len(now))
            optimizer.step()
        for one, found in zip(
            still, accuracies([one.probe for one in still], test, gold), strict=True
        ):
            one.told(found, epoch)
        if not still:
            break
    return [one.finished() for one in going]


class _Going:
    """A probe that is being trained, and the best that it has been."""

    def __init__(self, probe: Probe, how: Try, seed: int) -> None:
        self.probe, self.how, self.rng = probe, how, np.random.default_rng(seed)
        self.best, self.last, self.state = -1.0, 0, copy.deepcopy(probe.state_dict())

    def told(self, score: float, epoch: int) -> None:
        """How well it does after an epoch."""
        if score > self.best:
            self.best, self.last = score, epoch
            self.state = copy.deepcopy(self.probe.state_dict())

    def finished(self) -> Trained:
        """The probe at its best."""
        self.probe.load_state_dict(self.state)
        return Trained(self.probe, self.best, self.how, self.last)


def _made(kind: str, part: Part, how: Try, seed: int) -> Probe:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return KINDS[kind](Sizes(part.maps.heads, part.table.shape[1], how.hidden))


def tuned(kind: str, parts: tuple[Part, Part], gold: Gold, seed: int) -> Try:
    """The best of `TRIES` on the development part, each trained on a few sentences."""
    found = train(kind, parts, gold, [(how, seed) for how in TRIES[kind]], few=FEW)
    return max(found, key=lambda one: one.score).how


@torch.no_grad()
def scored(probe: Probe, part: Part, gold: Gold) -> Iterator[tuple[int, Sentence, Floats]]:
    """Every sentence with its number and its scores (word, 1 + word)."""
    for group in range(len(part.maps)):
        made = probe(*part.read(group, probe), gold is control).double().numpy()
        for row, place in enumerate(part.maps.groups[group]):
            one = part.maps.sentences[place]
            yield place, one, made[row, : len(one), : len(one) + 1]


@torch.no_grad()
def accuracies(probes: Sequence[Probe], part: Part, gold: Gold) -> list[float]:
    """Of each probe, the share of words that count whose head is the best candidate."""
    if not probes:
        return []
    right, total = torch.zeros(len(probes)), 0
    for group in range(len(part.maps)):
        scores = together(probes, *part.read(group, probes[0]), gold is control)
        rows = [torch.from_numpy(one.scored) for one in part.maps.members(group)]
        counted = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        right += ((scores.argmax(-1) == part.target(group, gold)) & counted).sum((1, 2))
        total += int(counted.sum())
    return (right / max(1, total)).tolist()


def as_tree(scores: Floats) -> Ints:
    """(word,) heads of the tree with the largest sum of log-probabilities, one word at its root.

    Args:
        scores: (word, 1 + word), the root first.

    >>> as_tree(np.array([[0.0, -9.0, 9.0], [1.0, 9.0, -9.0]])).tolist()
    [2, 0]
    """
    size = len(scores)
    chances = scores - np.logaddexp.reduce(scores, 1, keepdims=True)
    chances[:, ROOT] -= 2.0 * np.abs(chances[np.isfinite(chances)]).max() * size + 1.0  # once
    square = np.full((size + 1, size + 1), np.nan)
    square[1:] = chances
    np.fill_diagonal(square, np.nan)
    heads, _ = chu_liu_edmonds(square)
    return np.array(heads[1:], dtype=np.int64)


@torch.no_grad()
def uses(probe: Attention | AttentionAndWords, part: Part) -> Iterator[tuple[str, Floats, int]]:
    """Per sentence: its document, (head, 2) what each head adds to the score of the right head
    above what it adds to other words, by looking at the word and by being looked at; and over
    how many words that is summed.
    """
    for group in range(len(part.maps)):
        looks, vectors = part.read(group, probe)
        both = torch.stack(probe.use(looks, vectors), -1)  # (sentence, word, candidate, head, 2)
        for row, one in enumerate(part.maps.members(group)):
            size = len(one)
            words = np.nonzero(one.scored & (one.heads > ROOT))[0]
            if size < 3 or not len(words):  # no other candidate to compare with
                continue
            mine = both[row, words, :size]
            own = mine[torch.arange(len(words)), torch.from_numpy(one.heads[words] - 1)]
            itself = mine[torch.arange(len(words)), torch.from_numpy(words)]
            others = (mine.sum(1) - own - itself) / (size - 2)
            yield one.unit, (own - others).sum(0).double().numpy(), len(words)
