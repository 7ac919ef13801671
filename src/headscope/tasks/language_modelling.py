"""What masked and causal language modelling share: losses on some pieces of a text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope._util.tensors import torch
from headscope.corpus.paired_pieces import IGNORED
from headscope.tasks.base import CaseBatch, Inputs, Task, golds

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model import Model


class LanguageModelling(Task):
    """The loss on pieces that are to be predicted.

    The target of a case has, for each piece that the model reads, the piece that it is to predict
    there, or `IGNORED`; its gold is how many there are.
    """

    def read(self, model: Model, batch: CaseBatch, inputs: Inputs, times: int) -> Tensor:
        return self.summed_losses(model, batch, inputs, times)

    def summed_losses(self, model: Model, batch: CaseBatch, inputs: Inputs, times: int) -> Tensor:
        """(times, case) the sum of the losses of the pieces that are asked for."""
        logits, wanted = self._logits(model, batch, inputs, times)
        asked = wanted != IGNORED
        losses = torch.nn.functional.cross_entropy(logits.float(), wanted[asked], reduction="none")
        return _summed(losses, asked).view(times, -1)

    def _logits(
        self, model: Model, batch: CaseBatch, inputs: Inputs, times: int
    ) -> tuple[Tensor, Tensor]:
        """(asked piece, vocabulary) logits, and (text, token) what is to be predicted."""
        wanted = self.wanted(batch).repeat(times, 1)
        projection, asked = model.whole.get_output_embeddings(), wanted != IGNORED
        if not isinstance(projection, torch.nn.Linear):  # FSMT's are its embeddings
            return model.whole(**inputs).logits[asked], wanted
        with _only(projection, asked):
            logits: Tensor = model.whole(**inputs).logits
        return logits, wanted

    def wanted(self, batch: CaseBatch) -> Tensor:
        """(text, token) what is to be predicted, or `IGNORED`."""
        target = np.full(batch.batch.ids.shape, IGNORED)
        for row, case in enumerate(batch.cases):
            if case.target is not None:
                target[row, : len(case.target)] = case.target
        return torch.from_numpy(target).to(batch.batch.ids.device)

    def explained(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        """The mean logit of the pieces that are predicted where something is asked."""
        logits, wanted = self._logits(model, batch, inputs, 1)
        return _summed(logits.amax(-1), wanted != IGNORED) / golds(batch)

    def losses(self, model: Model, batch: CaseBatch, inputs: Inputs) -> Tensor:
        """The mean over the pieces that are asked for."""
        return self.summed_losses(model, batch, inputs, 1)[0] / golds(batch)


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
