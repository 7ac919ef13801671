"""Graded similarity of two texts: by a trained regressor, or by the cosine of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from headscope._util.tensors import torch
from headscope.corpus import Corpus, Example, read
from headscope.errors import HeadscopeError, InputError
from headscope.evidence.metrics import PEARSON, SPEARMAN, Metric
from headscope.model import Top
from headscope.tasks.base import Case, CaseBatch, Inputs, Task, golds, graded
from headscope.tasks.registry import TaskRequest, register_task

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model import Model


class Similarity(Task):
    """How alike two texts are: the cosine of their mean-pooled embeddings; nothing is trained."""

    texts_per_case: ClassVar[int] = 2

    def __init__(
        self, name: str, corpus: Corpus, metrics: tuple[Metric, ...] = (SPEARMAN, PEARSON)
    ) -> None:
        super().__init__(name, corpus)
        self.metrics = metrics
        alone = next((example.id for example in self.examples if not example.is_pair), None)
        if alone is not None:
            raise InputError(f"example {alone} is not a pair of texts", corpus.paths[0])

    def cases(
        self, model: Model, examples: Sequence[Example], max_length: int | None
    ) -> list[Case]:
        texts = [
            text
            for example in examples
            for text in (
                Example(
                    example.id, text=example.text, words=example.words, document=example.document
                ),
                Example(
                    example.id,
                    text=example.pair or "",
                    words=example.pair_words,
                    document=example.document,
                ),
            )
        ]
        pieces = self.encode(model, texts, max_length)
        return [
            Case(example, (first, second), graded(example, self.corpus))
            for example, first, second in zip(examples, pieces[::2], pieces[1::2], strict=True)
        ]

    def read(self, model: Model, batch: CaseBatch, inputs: Inputs, times: int) -> Tensor:
        states: Tensor = model.network(**inputs)[0]
        real = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)
        means = (states * real).sum(1) / real.sum(1)
        first, second = means.view(times, -1, 2, means.shape[-1]).unbind(2)
        return torch.nn.functional.cosine_similarity(first, second, dim=-1)

    def losses(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        """The squared distance of the cosine from the score, the task's scores put on 0 to 1."""
        low, high = self.range
        wanted = (golds(batch) - low) / ((high - low) or 1.0)
        return (self.read(model, batch, inputs, 1)[0] - wanted) ** 2

    def explained(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        return self.read(model, batch, inputs, 1)[0]

    @cached_property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        scores = [graded(one, self.corpus) for one in self.examples]
        return min(scores), max(scores)


class Regression(Task):
    """How alike two texts are, by a regressor on top of the model that reads both at once."""

    top: ClassVar[Top] = Top.CLASSIFIER

    def __init__(self, name: str, corpus: Corpus, metrics: tuple[Metric, ...]) -> None:
        super().__init__(name, corpus)
        self.metrics = metrics

    def cases(
        self, model: Model, examples: Sequence[Example], max_length: int | None
    ) -> list[Case]:
        if model.whole.config.num_labels != 1:
            raise HeadscopeError(
                f"{model.name} tells classes apart and {self.name} has scores; fine-tune it first "
                "(headscope finetune)"
            )
        pieces = self.encode(model, examples, max_length)
        return [
            Case(example.example, (example,), graded(example.example, self.corpus))
            for example in pieces
        ]

    def read(self, model: Model, batch: CaseBatch, inputs: Inputs, times: int) -> Tensor:
        logits: Tensor = model.whole(**inputs).logits
        return logits[:, 0].view(times, -1)

    def losses(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        return (self.read(model, batch, inputs, 1)[0] - golds(batch)) ** 2

    def explained(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        return self.read(model, batch, inputs, 1)[0]


@register_task("similarity:FILE")
def make_similarity(request: TaskRequest) -> Task:
    """The graded pairs of a file."""
    corpus = read(request.data, limit=request.limit, part=request.part, glue_dir=request.glue_dir)
    return Similarity(request.name, corpus)
