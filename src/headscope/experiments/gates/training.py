"""Gates that learn to close (Voita et al. 2019, section 5; Louizos et al. 2018).

Every head gets a gate with a hard-concrete distribution: a number between 0 and 1 that is often
exactly 0 or 1, drawn anew for each example. The gates are trained with the task's loss and a
penalty for each gate that is likely to be open. Raising the penalty step by step, each time from
where the last step ended, gives a path: which heads go first, and which stay to the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope._util.interrupt import raise_if_interrupted
from headscope._util.progress import NoProgress, Progress
from headscope.corpus import Budget
from headscope.errors import HeadscopeError
from headscope.model import Model, scale_heads
from headscope.tasks import Case, CaseBatch, Task

Floats = NDArray[np.float64]
TINY = 1e-6
SIZE = Budget(1024, 1024 * 128)
"""How large a batch is."""


@dataclass(frozen=True)
class Schedule:
    """How gates are trained.

    Attributes:
        penalties: what an open gate costs, one value after the other.
        steps: batches that are learned from at each penalty.
        rate: of learning, of the gates.
        encoder_rate: of learning, of the encoder's weights; 0: they stay as they are.
        temperature, stretch: of the hard-concrete distribution, as in Voita et al.
        start: the gates' parameter before training; they begin open.
    """

    penalties: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    steps: int = 60
    rate: float = 0.1
    encoder_rate: float = 0.0
    temperature: float = 0.33
    stretch: tuple[float, float] = (-0.1, 1.1)
    start: float = 2.0

    def __post_init__(self) -> None:
        known = self.penalties
        if not known or known[0] < 0 or list(known) != sorted(set(known)):
            raise HeadscopeError("penalties grow from step to step, from 0 or more")


class HardConcrete(nn.Module):
    """A gate for every head: (layer, head).

    >>> gates = HardConcrete(2, 3, Schedule())
    >>> bool((gates.chance() > 0.9).all()), gates.open().tolist()[0]
    (True, [True, True, True])
    """

    def __init__(self, layers: int, heads: int, schedule: Schedule) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.full((layers, heads), schedule.start))
        self.temperature, (self.low, self.high) = schedule.temperature, schedule.stretch

    def draw(self, many: int, generator: torch.Generator) -> Tensor:
        """(layer, example, head) gates, drawn anew for each of so many examples."""
        layers, heads = self.places.shape
        even = torch.rand(layers, many, heads, generator=generator).clamp(TINY, 1 - TINY)
        noise = even.log() - (1 - even).log()
        soft = torch.sigmoid((noise + self.places[:, None]) / self.temperature)
        return self._stretched(soft)

    def chance(self) -> Tensor:
        """(layer, head) how likely a gate is not exactly 0."""
        shift = self.temperature * math.log(-self.low / self.high)
        return torch.sigmoid(self.places - shift)

    def open(self) -> Tensor:
        """(layer, head) whether a gate is open when nothing is drawn."""
        return self._stretched(torch.sigmoid(self.places)) > 0

    def _stretched(self, soft: Tensor) -> Tensor:
        return (soft * (self.high - self.low) + self.low).clamp(0, 1)


@dataclass(frozen=True)
class Step:
    """The gates after training with one penalty.

    Attributes:
        chance: (layer, head) how likely each is open.
        open: (layer, head)
        model: the model whose encoder was trained along; else the model itself.
    """

    penalty: float
    chance: Floats
    open: NDArray[np.bool_]
    model: Model | None


@dataclass
class Gating:
    """Trains gates on the cases of a task."""

    model: Model
    task: Task
    cases: list[Case]
    schedule: Schedule = field(default_factory=Schedule)
    progress: Progress = field(default_factory=NoProgress)

    @property
    def cost(self) -> int:
        """Batches that one path learns from."""
        return self.schedule.steps * len(self.schedule.penalties)

    def path(self, seed: int) -> list[Step]:
        """The gates after each penalty; the same with the same seed."""
        made = []
        schedule, trained = self.schedule, self.schedule.encoder_rate > 0
        model = self.model.copy() if trained else self.model
        generator = torch.Generator().manual_seed(seed)
        gates = HardConcrete(model.layers, model.heads, schedule)
        groups = [{"params": [gates.places], "lr": schedule.rate}]
        if trained:
            groups.append({"params": list(model.whole.parameters()), "lr": schedule.encoder_rate})
        optimizer = torch.optim.Adam(groups)
        order = shuffled(self.task.batches(model, self.cases, SIZE), generator)
        with _learning(model, trained), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # of dropout, where the encoder learns
            for penalty in schedule.penalties:
                for _ in range(schedule.steps):
                    raise_if_interrupted()
                    loss = self._loss(model, next(order), gates, generator)
                    optimizer.zero_grad()
                    torch.autograd.backward(loss + penalty * gates.chance().sum())
                    optimizer.step()
                    self.progress.advance(1)
                chance, open_ = gates.chance().detach().double().numpy(), gates.open().numpy()
                made.append(Step(penalty, chance, open_, model.copy() if trained else model))
        return made

    def _loss(
        self, model: Model, batch: CaseBatch, gates: HardConcrete, generator: torch.Generator
    ) -> Tensor:
        drawn = gates.draw(len(batch.cases), generator)
        texts = drawn.repeat_interleave(self.task.texts_per_case, 1)
        with scale_heads(model, texts.to(model.network.device)):
            return self.task.losses(model, batch, batch.inputs(model)).mean()


def shuffled(batches: list[CaseBatch], generator: torch.Generator) -> Iterator[CaseBatch]:
    """Batches without end, all of them in a new order each time."""
    while True:
        for place in torch.randperm(len(batches), generator=generator).tolist():
            yield batches[place]


def closing_order(paths: Sequence[Sequence[Step]]) -> Floats:
    """(layer, head) how long heads stay open, the mean over seeds: the number of penalties that
    they outlive and, among those that outlive as many, how likely they are open at the end.

    >>> open_ = np.array([[True, False]])
    >>> step = Step(0.1, np.array([[0.9, 0.2]]), open_, None)
    >>> closing_order([[step, step]]).tolist()
    [[2.9, 0.2]]
    """
    return np.asarray(
        np.mean([sum(step.open for step in path) + path[-1].chance for path in paths], axis=0)
    )


@contextmanager
def _learning(model: Model, learn: bool) -> Iterator[None]:
    """Have a model's weights learn, or not, for the time of a `with`; afterwards as before."""
    whole = model.whole
    before, training = [one.requires_grad for one in whole.parameters()], whole.training
    whole.train(learn)
    whole.requires_grad_(learn)
    try:
        yield
    finally:
        whole.train(training)
        for one, learns in zip(whole.parameters(), before, strict=True):
            one.requires_grad_(learns)
