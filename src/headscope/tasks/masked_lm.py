"""Masked language modelling: the loss on words that are masked, always the same ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headscope._util.tensors import torch
from headscope.corpus import Corpus, Example, read
from headscope.errors import HeadscopeError
from headscope.evidence.metrics import LOSS, Metric
from headscope.model import Top
from headscope.tasks.base import Case, CaseBatch, Inputs, Task, golds
from headscope.tasks.registry import TaskRequest, register_task

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model import Model

SHARE = 0.15
"""Words that are masked, at least one a text (Devlin et al. 2019)."""
IGNORED = -100


class MaskedLM(Task):
    """The loss on masked words; a word is masked whole, and the same ones in every run."""

    top: ClassVar[Top] = Top.MASKED_LM
    metrics: tuple[Metric, ...] = (LOSS,)

    def __init__(self, name: str, corpus: Corpus, seed: int = 0) -> None:
        super().__init__(name, corpus)
        self.seed = seed

    def cases(
        self, model: Model, examples: Sequence[Example], max_length: int | None
    ) -> list[Case]:
        mask = model.tokenizer.mask_token_id
        if not isinstance(mask, int):
            raise HeadscopeError(f"{model.name}: its tokenizer has no mask token")
        cases = []
        for text in self.encode(model, examples, max_length):
            words = np.unique(text.word[text.word >= 0])
            if not len(words):
                continue
            drawn = random.Random(f"{self.seed} {text.example.id}")
            chosen = drawn.sample(words.tolist(), max(1, round(SHARE * len(words))))
            hidden = np.isin(text.word, chosen)
            masked = replace(text, ids=np.where(hidden, mask, text.ids))
            target = np.where(hidden, text.ids, IGNORED)
            cases.append(Case(text.example, (masked,), float(hidden.sum()), target))
        return cases

    def read(self, model: Model, batch: CaseBatch, inputs: Inputs, times: int) -> Tensor:
        logits, wanted = self._logits(model, batch, inputs, times)
        asked = wanted != IGNORED
        losses = torch.nn.functional.cross_entropy(logits.float(), wanted[asked], reduction="none")
        return _summed(losses, asked).view(times, -1)

    def _logits(
        self, model: Model, batch: CaseBatch, inputs: Inputs, times: int
    ) -> tuple[Tensor, Tensor]:
        """(masked piece, vocabulary) logits, and (text, token) what was masked."""
        length = batch.batch.ids.shape[1]
        target = np.full((len(batch.cases), length), IGNORED)
        for row, case in enumerate(batch.cases):
            if case.target is not None:
                target[row, : len(case.target)] = case.target
        wanted = torch.from_numpy(target).to(batch.batch.ids.device).repeat(times, 1)
        with _only(model.whole.get_output_embeddings(), wanted != IGNORED):
            logits: Tensor = model.whole(**inputs).logits
        return logits, wanted

    def explained(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        """The mean logit of the pieces that are predicted where something is masked."""
        logits, wanted = self._logits(model, batch, inputs, 1)
        return _summed(logits.amax(-1), wanted != IGNORED) / golds(batch)

    def losses(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        """The mean over the pieces that are masked."""
        return self.read(model, batch, inputs, 1)[0] / golds(batch)


def _summed(values: Tensor, asked: Tensor) -> Tensor:
    """(text,) the sum over the pieces that are asked for."""
    total = values.new_zeros(len(asked))
    return total.index_add(0, asked.nonzero()[:, 0], values)


@contextmanager
def _only(projection: torch.nn.Module, asked: Tensor) -> Iterator[None]:
    """Have the vocabulary's projection see the tokens that are asked for, and no others."""

    def cut(_: torch.nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        return (arguments[0][asked],)

    handle = projection.register_forward_pre_hook(cut)
    try:
        yield
    finally:
        handle.remove()


@register_task("masked-lm:DATA")
def make_masked_lm(request: TaskRequest) -> Task:
    """Masked words of any corpus."""
    corpus = read(request.data, limit=request.limit, part=request.part, glue_dir=request.glue_dir)
    return MaskedLM(request.name, corpus, request.seed)
