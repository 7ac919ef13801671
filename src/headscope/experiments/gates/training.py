"""Gates that learn to close (Voita et al. 2019, section 5; Louizos et al. 2018).

Every head gets a gate with a hard-concrete distribution: a number between 0 and 1 that is often
exactly 0 or 1, drawn anew for each example. The gates are trained with the task's loss and a
penalty for each gate that is likely to be open. Raising the penalty step by step, each time from
where the last step ended, gives a path: which heads go first, and which stay to the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope._util.interrupt import raise_if_interrupted
from headscope._util.progress import NoProgress, Progress
from headscope.corpus import Budget
from headscope.errors import HeadscopeError
from headscope.experiments.gates.schedule import Schedule
from headscope.model import Model, evaluating, scale_heads
from headscope.tasks import Case, CaseBatch, Task

Floats = NDArray[np.float64]
TINY = 1e-6
SIZE = Budget(1024, 1024 * 128)
"""Size of a training batch."""


class HardConcrete(nn.Module):
    """A gate for every head: (layer, head).

    Args:
        gated: for each layer whether its heads have gates; others are always open.

    >>> gates = HardConcrete(2, 3, Schedule())
    >>> bool((gates.chance() > 0.9).all()), gates.open().tolist()[0]
    (True, [True, True, True])
    """

    def __init__(
        self, layers: int, heads: int, schedule: Schedule, gated: Sequence[bool] | None = None
    ) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.full((layers, heads), schedule.start))
        self.gated = torch.tensor(gated or [True] * layers)[:, None]
        self.temperature, (self.low, self.high) = schedule.temperature, schedule.stretch

    def draw(self, examples: int, generator: torch.Generator) -> Tensor:
        """(layer, example, head) gates, drawn anew for each example."""
        layers, heads = self.log_alpha.shape
        uniform = torch.rand(layers, examples, heads, generator=generator).clamp(TINY, 1 - TINY)
        noise = uniform.log() - (1 - uniform).log()
        soft = torch.sigmoid((noise + self.log_alpha[:, None]) / self.temperature)
        return torch.where(self.gated[:, None], self._stretched(soft), 1.0)

    def chance(self) -> Tensor:
        """(layer, head) probability that a gate is not exactly 0."""
        shift = self.temperature * math.log(-self.low / self.high)
        return torch.where(self.gated, torch.sigmoid(self.log_alpha - shift), 1.0)

    def open(self) -> Tensor:
        """(layer, head) whether a gate is open when nothing is drawn at random."""
        return (self._stretched(torch.sigmoid(self.log_alpha)) > 0) | ~self.gated

    def _stretched(self, soft: Tensor) -> Tensor:
        return (soft * (self.high - self.low) + self.low).clamp(0, 1)


@dataclass(frozen=True)
class Step:
    """The gates after training with one penalty.

    Attributes:
        chance: (layer, head) probability that each is open.
        open: (layer, head)
        model: a copy whose encoder was trained too; the model itself where it is frozen.
    """

    penalty: float
    chance: Floats
    open: NDArray[np.bool_]
    model: Model | None


@dataclass
class Gating:
    """Trains gates on the cases of a task.

    Attributes:
        attention: the kind of attention whose heads have gates; None: all.
    """

    model: Model
    task: Task
    cases: list[Case]
    schedule: Schedule = field(default_factory=Schedule)
    progress: Progress = field(default_factory=NoProgress)
    attention: str | None = None

    def __post_init__(self) -> None:
        kinds = list(dict.fromkeys(self.model.attentions))
        if self.attention is not None and self.attention not in kinds:
            has = f"{', '.join(kinds)} attention" if kinds else "one stack, and one kind"
            raise HeadscopeError(
                f"there are no gates for {self.attention} attention: {self.model.name} has {has}"
            )

    @property
    def gated(self) -> list[bool]:
        """For each layer whether its heads have gates."""
        kinds = self.model.attentions or ("",) * self.model.layers
        return [self.attention in (None, kind) for kind in kinds]

    @property
    def cost(self) -> int:
        """Training batches of one path."""
        return self.schedule.steps * len(self.schedule.penalties)

    def path(self, seed: int) -> list[Step]:
        """The gates after each penalty; the same with the same seed."""
        schedule, trained = self.schedule, self.schedule.encoder_rate > 0
        model = self.model.copy() if trained else self.model
        generator = torch.Generator().manual_seed(seed)
        gates = HardConcrete(model.layers, model.heads, schedule, self.gated)
        groups = [{"params": [gates.log_alpha], "lr": schedule.rate}]
        if trained:
            groups.append({"params": list(model.whole.parameters()), "lr": schedule.encoder_rate})
        optimizer = torch.optim.Adam(groups)
        batches = shuffled(self.task.batches(model, self.cases, SIZE), generator)
        steps = []
        with _trainable(model, trained), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # of dropout, where the encoder is trained
            for penalty in schedule.penalties:
                for _ in range(schedule.steps):
                    raise_if_interrupted()
                    loss = self._loss(model, next(batches), gates, generator)
                    optimizer.zero_grad()
                    torch.autograd.backward(loss + penalty * gates.chance().sum())
                    optimizer.step()
                    self.progress.advance(1)
                chance, open_ = gates.chance().detach().double().numpy(), gates.open().numpy()
                steps.append(Step(penalty, chance, open_, model.copy() if trained else model))
        return steps

    def _loss(
        self, model: Model, batch: CaseBatch, gates: HardConcrete, generator: torch.Generator
    ) -> Tensor:
        drawn = gates.draw(len(batch.cases), generator)
        texts = drawn.repeat_interleave(self.task.texts_per_case, 1)
        with scale_heads(model, texts.to(model.network.device)):
            return self.task.losses(model, batch, batch.inputs(model)).mean()


def shuffled(batches: list[CaseBatch], generator: torch.Generator) -> Iterator[CaseBatch]:
    """Endless batches: all of them, then all of them in another order."""
    while True:
        for place in torch.randperm(len(batches), generator=generator).tolist():
            yield batches[place]


def open_durations(paths: Sequence[Sequence[Step]]) -> Floats:
    """(layer, head) how long gates stay open, the mean over paths: the number of penalties that
    they outlive, plus the probability that they are open at the end, which orders equals.

    >>> open_ = np.array([[True, False]])
    >>> step = Step(0.1, np.array([[0.9, 0.2]]), open_, None)
    >>> open_durations([[step, step]]).tolist()
    [[2.9, 0.2]]
    """
    return np.asarray(
        np.mean([sum(step.open for step in path) + path[-1].chance for path in paths], axis=0)
    )


@contextmanager
def _trainable(model: Model, trainable: bool) -> Iterator[None]:
    """Train a model's weights within a `with`, or hold them; afterwards they are as before.

    Args:
        trainable: only for a copy, which is left in training mode.
    """
    whole = model.whole
    before = [each.requires_grad for each in whole.parameters()]
    whole.requires_grad_(trainable)
    try:
        with nullcontext(whole.train()) if trainable else evaluating(whole):
            yield
    finally:
        for parameter, requires_grad in zip(whole.parameters(), before, strict=True):
            parameter.requires_grad_(requires_grad)
