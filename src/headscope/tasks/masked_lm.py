"""Masked language modelling: the loss on words that are masked, always the same ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from headscope.corpus import Corpus, Example, read
from headscope.corpus.paired_pieces import IGNORED
from headscope.errors import HeadscopeError
from headscope.evidence.metrics import LOSS, Metric
from headscope.model import Top
from headscope.tasks.base import Case, Task
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.registry import TaskRequest, register_task

if TYPE_CHECKING:
    from headscope.model import Model

SHARE = 0.15
"""Words that are masked, at least one a text (Devlin et al. 2019)."""


class MaskedLM(LanguageModelling):
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


@register_task("masked-lm:DATA")
def make_masked_lm(request: TaskRequest) -> Task:
    """Masked words of any corpus."""
    corpus = read(request.data, limit=request.limit, part=request.part, glue_dir=request.glue_dir)
    return MaskedLM(request.name, corpus, request.seed)
