"""Training probes: several of one kind side by side, with early stopping."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from headscope.experiments.probe.evaluation import accuracies
from headscope.experiments.probe.inputs import IGNORED, TreebankPart
from headscope.experiments.probe.probes import KINDS, Probe, ProbeDimensions, joint_scores
from headscope.experiments.probe.sentences import Gold, control
from headscope.experiments.probe.tables import (
    ATTENTION,
    ATTENTION_AND_WORDS,
    WORDS_AND_DISTANCE,
)
from headscope.experiments.probe.word_attention import WordMaps

EPOCHS, PATIENCE = 20, 2
"""Epochs at most; epochs without a gain on the development part after which training stops."""
SKIPPED = 0.1
"""Share of the groups that a probe skips."""
FEW = 1000
"""Sentences that hyperparameters are compared on."""


@dataclass(frozen=True)
class ProbeHyperparameters:
    """How a probe is trained: learning rate, weight decay, size of a hidden layer."""

    learning_rate: float
    weight_decay: float = 0.0
    hidden: int = 128


Trial = tuple[ProbeHyperparameters, int]
"""Hyperparameters and a seed."""
CANDIDATES = {
    ATTENTION: tuple(ProbeHyperparameters(rate) for rate in (0.01, 0.03, 0.1, 0.3)),
    ATTENTION_AND_WORDS: (
        ProbeHyperparameters(0.001),
        ProbeHyperparameters(0.003),
        ProbeHyperparameters(0.003, 1e-4),
        ProbeHyperparameters(0.01),
    ),
    WORDS_AND_DISTANCE: (
        ProbeHyperparameters(0.001),
        ProbeHyperparameters(0.003),
        ProbeHyperparameters(0.001, 0.0, 256),
        ProbeHyperparameters(0.003, 1e-5, 256),
    ),
}
"""Hyperparameters of each kind, of which the development part chooses: as many for each."""


@dataclass(frozen=True)
class TrainedProbe:
    """A probe, and its accuracy on the development part."""

    probe: Probe
    score: float
    hyperparameters: ProbeHyperparameters
    epochs: int


class TrainingState:
    """A probe that is being trained, and the best that it has been."""

    def __init__(self, probe: Probe, hyperparameters: ProbeHyperparameters, seed: int) -> None:
        self.probe, self.hyperparameters = probe, hyperparameters
        self.rng = np.random.default_rng(seed)
        self.best_score, self.best_epoch = -1.0, 0
        self.best_weights = copy.deepcopy(probe.state_dict())

    def update(self, score: float, epoch: int) -> None:
        """Take note of the score after an epoch."""
        if score > self.best_score:
            self.best_score, self.best_epoch = score, epoch
            self.best_weights = copy.deepcopy(self.probe.state_dict())

    def finish(self) -> TrainedProbe:
        """The probe at its best."""
        self.probe.load_state_dict(self.best_weights)
        return TrainedProbe(self.probe, self.best_score, self.hyperparameters, self.best_epoch)


def train(
    kind: str,
    parts: tuple[TreebankPart, TreebankPart],
    gold: Gold,
    trials: Sequence[Trial],
    *,
    sentences: int | None = None,
) -> list[TrainedProbe]:
    """Train probes of one kind side by side until none gets better on the development part.

    Attention is read once for all of them. Each skips some of the groups, drawn with its own
    seed, so that seeds differ in what is seen when.

    Args:
        parts: to train on, and for development.
        trials: hyperparameters and seed of each.
        sentences: train on about this many only.
    """
    part, development = parts
    states = [TrainingState(_initial(kind, part, *trial), *trial) for trial in trials]
    optimizer = torch.optim.Adam(
        [
            {
                "params": list(state.probe.parameters()),
                "lr": state.hyperparameters.learning_rate,
                "weight_decay": state.hyperparameters.weight_decay,
            }
            for state in states
        ]
    )
    rng = np.random.default_rng(trials[0][1])
    groups = _training_groups(part.maps, rng, sentences)
    for epoch in range(1, EPOCHS + 1):
        running = [state for state in states if epoch - state.best_epoch <= PATIENCE]
        if not running:
            break
        for group in rng.permutation(groups).tolist():
            probes = [state.probe for state in running if state.rng.random() >= SKIPPED]
            if probes:
                _train_step(probes, optimizer, part, group, gold)
        scores = accuracies([state.probe for state in running], development, gold)
        for state, score in zip(running, scores, strict=True):
            state.update(score, epoch)
    return [state.finish() for state in states]


def _initial(kind: str, part: TreebankPart, how: ProbeHyperparameters, seed: int) -> Probe:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return KINDS[kind](ProbeDimensions(part.maps.heads, part.vectors.shape[1], how.hidden))


def _training_groups(
    maps: WordMaps, rng: np.random.Generator, sentences: int | None
) -> NDArray[np.int64]:
    """The groups to train on, in a random order: all, or enough for a number of sentences."""
    groups = rng.permutation(len(maps))
    if sentences is None:
        return groups
    sizes = np.cumsum([len(maps.groups[group]) for group in groups.tolist()])
    return groups[: int(np.searchsorted(sizes, sentences)) + 1]


def _train_step(
    probes: list[Probe],
    optimizer: torch.optim.Optimizer,
    part: TreebankPart,
    group: int,
    gold: Gold,
) -> None:
    scores = joint_scores(probes, *part.read(group, probes[0]), gold is control)
    target = part.target(group, gold).expand(len(probes), -1, -1)
    loss = nn.functional.cross_entropy(scores.flatten(0, 2), target.flatten(), ignore_index=IGNORED)
    optimizer.zero_grad()
    torch.autograd.backward(loss * len(probes))
    optimizer.step()


def best_hyperparameters(
    kind: str, parts: tuple[TreebankPart, TreebankPart], gold: Gold, seed: int
) -> ProbeHyperparameters:
    """The best of `CANDIDATES` on the development part, each trained on a few sentences."""
    trials = [(candidate, seed) for candidate in CANDIDATES[kind]]
    trained = train(kind, parts, gold, trials, sentences=FEW)
    return max(trained, key=lambda probe: probe.score).hyperparameters
