"""Translation: the loss on the pieces of translations, and BLEU and chrF of what a model says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headscope._util.tensors import torch
from headscope.corpus import Corpus, Example, PairedPieces, read
from headscope.corpus.paired_pieces import IGNORED
from headscope.errors import HeadscopeError, InputError
from headscope.evidence.metrics import LOSS, PERPLEXITY, Metric
from headscope.evidence.translation_metrics import BLEU, CHRF, TOKEN_LOSS, WIDTH
from headscope.model import Top
from headscope.model.paired_batch import PairedBatch
from headscope.tasks.base import Case, CaseBatch, Inputs, Task
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.registry import TaskRequest, register_task

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model import Model

SPOKEN = ("input_ids", "attention_mask", "token_type_ids")
"""What of the inputs a model needs to translate."""


class TranslationLoss(LanguageModelling):
    """The loss on the pieces of translations, by teacher forcing."""

    top: ClassVar[Top] = Top.SEQ2SEQ
    for_translators: ClassVar[bool] = True
    metrics: tuple[Metric, ...] = (LOSS, PERPLEXITY)

    def __init__(self, name: str, corpus: Corpus) -> None:
        super().__init__(name, corpus)
        for example in self.examples:
            if example.translation is None:
                raise InputError(
                    f"example {example.id} has no translation; write parallel:FILE", corpus.paths[0]
                )

    def cases(
        self, model: Model, examples: Sequence[Example], max_length: int | None
    ) -> list[Case]:
        if not model.translates:
            raise HeadscopeError(
                f"{model.name} has no encoder and decoder, so that it cannot translate"
            )
        if not model.whole.can_generate():
            raise HeadscopeError(f"{model.name} came without its language model: it says nothing")
        cases = []
        for text in self.encode(model, examples, max_length):
            assert isinstance(text, PairedPieces)
            asked = int((text.labels != IGNORED).sum())
            cases.append(Case(text.example, (text,), float(asked)))
        return cases

    def wanted(self, batch: CaseBatch) -> Tensor:
        assert isinstance(batch.batch, PairedBatch)
        return batch.batch.labels


class Translation(TranslationLoss):
    """BLEU and chrF of what a model says (greedily), and its loss on the translations.

    A prediction is the summed loss of a sentence, and the counts of which BLEU and chrF are made.
    """

    metrics: tuple[Metric, ...] = (BLEU, CHRF, TOKEN_LOSS)
    width: ClassVar[tuple[int, ...]] = (WIDTH,)
    timed: ClassVar[str] = "generation"

    def __init__(self, name: str, corpus: Corpus) -> None:
        super().__init__(name, corpus)
        try:
            from sacrebleu import metrics
        except ModuleNotFoundError:
            raise HeadscopeError(
                "BLEU and chrF need sacrebleu: pip install 'headscope[translation]' (the loss "
                "alone does not: translate-loss:FILE)"
            ) from None
        counters: Any = metrics
        self._counters: tuple[Any, ...] = (counters.BLEU(), counters.CHRF())

    def read(self, model: Model, batch: CaseBatch, inputs: Inputs, times: int) -> Tensor:
        losses = self.summed_losses(model, batch, inputs, times)[..., None]
        said = translate(model, inputs)
        references = [reference(case.example) for case in batch.cases] * times
        counts = self.counts(said, references).reshape(times, len(batch.cases), -1)
        return torch.cat([losses.double().cpu(), torch.from_numpy(counts)], -1)

    def counts(self, said: Sequence[str], references: Sequence[str]) -> np.ndarray[Any, Any]:
        """(sentence, 28) the counts of BLEU and of chrF, by sacrebleu."""
        pairs = list(zip(said, references, strict=True))
        columns = [
            [counter._extract_corpus_statistics([one], [[other]])[0] for one, other in pairs]
            for counter in self._counters
        ]
        return np.concatenate([np.array(column, dtype=float) for column in columns], 1)

    def run(self, model: Model, batch: CaseBatch) -> None:
        """Have a model say as many pieces as the translations have, whatever they are."""
        assert isinstance(batch.batch, PairedBatch)
        translate(model, batch.inputs(model), length=batch.batch.target.ids.shape[1])


def reference(example: Example) -> str:
    """The translation of an example as text."""
    assert example.translation is not None
    return example.translation.text or " ".join(example.translation.words)


def translate(model: Model, inputs: Inputs, *, length: int | None = None) -> list[str]:
    """What a model says of some texts, greedily; heads that are off stay off.

    Args:
        inputs: what the network is called with.
        length: say so many pieces; None: until it is done.
    """
    given = {name: inputs[name] for name in SPOKEN if name in inputs}
    longest = min(model.max_length, 2 * given["input_ids"].shape[1] + 10)
    speaker: Any = model.whole
    how = (
        {"max_length": longest} if length is None else {"max_length": length, "min_length": length}
    )
    with torch.inference_mode():
        said = speaker.generate(**given, num_beams=1, do_sample=False, **how)
    return [str(text) for text in model.tokenizer.batch_decode(said, skip_special_tokens=True)]


@register_task("translate:FILE")
def make_translation(request: TaskRequest) -> Task:
    """Texts and their translations (`parallel:`): BLEU, chrF and loss."""
    return Translation(request.name, _corpus(request))


@register_task("translate-loss:FILE")
def make_translation_loss(request: TaskRequest) -> Task:
    """The same without translating: the loss on the translations."""
    return TranslationLoss(request.name, _corpus(request))


def _corpus(request: TaskRequest) -> Corpus:
    source = request.data.removeprefix("parallel:")
    return read(f"parallel:{source}", limit=request.limit)
