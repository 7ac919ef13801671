"""Classification: a class per text or pair, by the classifier on top of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from headscope._util.tensors import torch
from headscope.corpus import Corpus, Example, read
from headscope.errors import HeadscopeError, InputError
from headscope.evidence.metrics import ACCURACY, Metric
from headscope.model import Top
from headscope.tasks.base import Case, CaseBatch, Floats, Inputs, Task, golds
from headscope.tasks.registry import TaskRequest, register_task

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model import Model


class Classification(Task):
    """Which class a text or a pair belongs to."""

    top: ClassVar[Top] = Top.CLASSIFIER

    def __init__(
        self,
        name: str,
        corpus: Corpus,
        metrics: tuple[Metric, ...] = (ACCURACY,),
        classes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(name, corpus)
        self.metrics = metrics
        labels = Counter(example.label for example in self.examples)
        if None in labels or "" in labels:
            raise InputError("an example has no label; name its column 'label'", corpus.paths[0])
        self.classes = classes or tuple(sorted(str(label) for label in labels))
        if len(self.classes) < 2:
            raise InputError(f"only one class ({self.classes[0]!r}) in it", corpus.paths[0])
        unknown = [str(label) for label in labels if label not in self.classes]
        if unknown:
            raise InputError(
                f"label {unknown[0]!r} is not one of {', '.join(self.classes)}", corpus.paths[0]
            )

    def cases(
        self, model: Model, examples: Sequence[Example], max_length: int | None
    ) -> list[Case]:
        self._check(model)
        pieces = self.encode(model, examples, max_length)
        return [
            Case(text.example, (text,), float(self.classes.index(str(text.example.label))))
            for text in pieces
        ]

    def read(self, model: Model, batch: CaseBatch, inputs: Inputs, times: int) -> Tensor:
        logits: Tensor = model.whole(**inputs).logits
        return logits.argmax(-1).view(times, -1)

    def losses(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        logits: Tensor = model.whole(**inputs).logits
        return torch.nn.functional.cross_entropy(
            logits.float(), golds(batch).long(), reduction="none"
        )

    def explained(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        """The logit of the class that is predicted."""
        logits: Tensor = model.whole(**inputs).logits
        return logits.amax(-1)

    def knows_nothing(self, gold: Floats) -> Floats:
        values, counts = np.unique(gold, return_counts=True)
        return np.full(len(gold), values[counts.argmax()])

    def _check(self, model: Model) -> None:
        """The model's classifier must be one for these classes."""
        size = model.whole.config.num_labels
        if size != len(self.classes):
            raise HeadscopeError(
                f"{model.name} tells {size} classes apart and {self.name} has "
                f"{len(self.classes)}; fine-tune it first (headscope finetune)"
            )


@register_task("classify:FILE")
def make_classification(request: TaskRequest) -> Task:
    """The labels of a file."""
    return Classification(request.name, read(request.data, limit=request.limit))
