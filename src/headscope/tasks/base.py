"""A task: what a model is to do, on which examples, and how well it does it.

A task gives one number per example, its prediction; metrics compare predictions with gold. The
number may be a class, a score, or a summed loss, so that every experiment (ablation, importance,
pruning) takes every task. A task whose metrics need more (translation) gives several.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch
from headscope.corpus import Budget, Corpus, Example, Pieces, bucket_of, plan_batches
from headscope.errors import HeadscopeError, InputError
from headscope.evidence.metrics import Metric, Score
from headscope.evidence.paired import Resamples
from headscope.model import Top

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model import Batch, Model

Floats = NDArray[np.float64]
Inputs: TypeAlias = "dict[str, Tensor]"


@dataclass(frozen=True)
class Case:
    """One example of a task as the model sees it.

    Attributes:
        texts: what the model reads, one text or the two texts of a pair read apart.
        gold: the number that the prediction is compared with.
        target: what else the task needs to know (the masked pieces).
    """

    example: Example
    texts: tuple[Pieces, ...]
    gold: float
    target: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class CaseBatch:
    """Some cases as one padded batch of their texts, those of a case one after the other."""

    cases: tuple[Case, ...]
    places: tuple[int, ...]
    batch: Batch

    def inputs(self, model: Model) -> Inputs:
        """What the network is called with."""
        return self.batch.inputs(model.network)


class Task(ABC):
    """A task on some examples.

    Attributes:
        name: as the user wrote it.
        head: what the model must have on top.
        metrics: the first is the one that is looked at.
        texts_per_case: how many texts the model reads for one prediction.
        width: of a prediction: () for one number, or how many it has.
        for_translators: whether it is for models with an encoder and a decoder.
        timed: what `run` does, in a word.
    """

    top: ClassVar[Top] = Top.NONE
    texts_per_case: ClassVar[int] = 1
    width: ClassVar[tuple[int, ...]] = ()
    for_translators: ClassVar[bool] = False
    timed: ClassVar[str] = "reading"
    metrics: tuple[Metric, ...]

    def __init__(self, name: str, corpus: Corpus) -> None:
        self.name, self.corpus = name, corpus
        self.half: int | None = None
        self.examples: list[Example] = list(corpus)
        if not self.examples:
            raise InputError("no examples in it", corpus.paths[0])

    @abstractmethod
    def cases(
        self, model: Model, examples: Sequence[Example], max_length: int | None
    ) -> list[Case]:
        """Examples as the model sees them."""

    def encode(
        self, model: Model, examples: Sequence[Example], max_length: int | None
    ) -> list[Pieces]:
        """Tokenize examples; an error where one was cut and no one had asked for it."""
        if model.translates and not self.for_translators:
            raise HeadscopeError(
                f"{self.name} is not for models with an encoder and a decoder like {model.name}; "
                "translate:FILE and translate-loss:FILE are"
            )
        pieces = model.encode(examples, max_length)
        for text in pieces:
            model.check_not_truncated(text, max_length, self.corpus.paths[0])
        return pieces

    @abstractmethod
    def read(self, model: Model, batch: CaseBatch, inputs: Inputs, times: int) -> Tensor:
        """(times, case, *width) predictions of a batch whose inputs are repeated so many times."""

    @abstractmethod
    def losses(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        """(case,) what was lost on each case, for gradients: smaller is better."""

    @abstractmethod
    def explained(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        """(case,) the model's score for what it predicts, which relevance is handed down from."""

    def batches(self, model: Model, cases: list[Case], budget: Budget) -> list[CaseBatch]:
        """Batches of like length."""
        lengths = [max(text.lengths for text in case.texts) for case in cases]
        size = Budget(
            max(1, budget.tokens // self.texts_per_case),
            max(1, budget.area // self.texts_per_case),
        )
        padded = not model.adapter.depends_on_padding
        return [
            CaseBatch(
                tuple(cases[place] for place in places),
                tuple(places),
                model.batch([text for place in places for text in cases[place].texts]),
            )
            for places in plan_batches(lengths, size, padded=padded)
        ]

    def predict(self, model: Model, cases: list[Case], budget: Budget) -> Floats:
        """(case, *width) predictions of a model."""
        from headscope.model import evaluating

        predictions = np.empty((len(cases), *self.width))
        with torch.inference_mode(), evaluating(model.whole):
            for batch in self.batches(model, cases, budget):
                values = self.read(model, batch, batch.inputs(model), 1)[0]
                predictions[list(batch.places)] = values.double().cpu().numpy()
        return predictions

    def run(self, model: Model, batch: CaseBatch) -> None:
        """Have a model do its work on a batch, to see how long it takes."""
        model.network(**batch.inputs(model))

    def score(self, predictions: Floats, cases: list[Case], seed: int = 0) -> list[Score]:
        """Every metric with its interval and error, and what knowing nothing would give."""
        gold = np.array([case.gold for case in cases])
        resamples = Resamples([case.example.unit for case in cases], seed=seed)
        nothing = self.knows_nothing(gold)
        scores = []
        for metric in self.metrics:
            low, high, error = resamples.interval(metric, predictions, gold)
            scores.append(
                Score(
                    metric.name,
                    metric(predictions, gold),
                    low,
                    high,
                    error,
                    len(gold),
                    metric.better,
                    metric.share,
                    None if nothing is None else metric(nothing, gold),
                )
            )
        return scores

    def knows_nothing(self, gold: Floats) -> Floats | None:
        """What a model would predict that knows the gold's distribution alone; None: no such."""
        return None

    def halves(self) -> tuple[Task, Task]:
        """The same task on two halves of its documents, drawn by the hash of their names.

        The halves of the task are numbered 0 and 1, those of its half 0 are 2 and 3, those of its
        half 1 are 4 and 5, and so on.
        """
        parts, parent = [], -1 if self.half is None else self.half
        depth = (parent + 2).bit_length() - 1
        for place in range(2):
            half = copy.copy(self)
            half.half = 2 * parent + 2 + place
            half.examples = [
                example
                for example in self.examples
                if (bucket_of(example.unit) >> depth) % 2 == place
            ]
            if not half.examples:
                raise InputError("too few examples to cut in two", self.corpus.paths[0])
            parts.append(half)
        return parts[0], parts[1]


def golds(batch: CaseBatch) -> Tensor:
    """(case,) the gold of a batch."""
    return torch.tensor([case.gold for case in batch.cases], device=batch.batch.ids.device)


def graded(example: Example, corpus: Corpus) -> float:
    """The score of an example."""
    try:
        return float(example.label or "")
    except ValueError:
        raise InputError(
            f"example {example.id} has the label {example.label!r}, which is not a score",
            corpus.paths[0],
        ) from None
