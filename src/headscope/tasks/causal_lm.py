"""Causal language modelling: the loss on every token given those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from headscope.corpus import Example, read
from headscope.corpus.paired_pieces import IGNORED
from headscope.errors import HeadscopeError
from headscope.evidence.metrics import LOSS, PERPLEXITY, Metric
from headscope.model import Top
from headscope.tasks.base import Case, Task
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.registry import TaskRequest, register_task

if TYPE_CHECKING:
    from headscope.model import Model


class CausalLM(LanguageModelling):
    """The loss of a decoder on each token of a text but the first, and its perplexity."""

    top: ClassVar[Top] = Top.CAUSAL_LM
    metrics: tuple[Metric, ...] = (LOSS, PERPLEXITY)

    def cases(
        self, model: Model, examples: Sequence[Example], max_length: int | None
    ) -> list[Case]:
        if not model.causal:
            raise HeadscopeError(
                f"{model.name} sees the tokens that it would have to predict; masked-lm:DATA is "
                "for models like it"
            )
        cases = []
        for text in self.encode(model, examples, max_length):
            following = np.append(text.ids[1:], IGNORED)
            target = np.where(np.append(text.special[1:], True), IGNORED, following)
            asked = int((target != IGNORED).sum())
            if asked:
                cases.append(Case(text.example, (text,), float(asked), target))
        return cases


@register_task("causal-lm:DATA")
def make_causal_lm(request: TaskRequest) -> Task:
    """The next tokens of any corpus."""
    corpus = read(request.data, limit=request.limit, part=request.part, glue_dir=request.glue_dir)
    return CausalLM(request.name, corpus)
