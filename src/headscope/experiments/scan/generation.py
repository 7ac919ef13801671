"""Texts with the translations that a model itself gives them, to be analysed as it says them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from headscope._util.progress import Progress
from headscope.corpus import Budget, Corpus, Example, plan_batches
from headscope.errors import HeadscopeError, InputError
from headscope.model import Model, evaluating
from headscope.tasks.translation import translate

BUDGET = Budget(2048, 2048 * 128)


@dataclass(frozen=True)
class TranslatedCorpus(Corpus):
    """A corpus whose texts have the translations of a model."""

    examples: tuple[Example, ...] = ()

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)


def check_speaks(model: Model) -> None:
    """Raise an error if a model cannot translate."""
    if not model.translates or not model.whole.can_generate():
        raise HeadscopeError(f"{model.name} has no decoder that could translate (--generate)")


def translated(
    model: Model, corpus: Corpus, max_length: int | None, progress: Progress
) -> TranslatedCorpus:
    """A corpus with what a model says of its texts, greedily, instead of their translations.

    A text of which it says nothing is left out.
    """
    examples = [replace(example, translation=None, alignment=()) for example in corpus]
    texts = model.encode(examples, max_length)
    said: dict[int, str] = {}
    padded = not model.adapter.depends_on_padding
    progress.begin(f"{model.name} translates {corpus.name}", len(texts))
    with evaluating(model.whole):
        for places in plan_batches([len(text) for text in texts], BUDGET, padded=padded):
            batch = model.batch([texts[place] for place in places])
            answers = translate(model, batch.inputs(model.network))
            said |= dict(zip(places, answers, strict=True))
            progress.advance(len(places))
    progress.end()
    spoken = tuple(
        replace(example, translation=Example(example.id, text=said[place].strip()))
        for place, example in enumerate(examples)
        if said[place].strip()
    )
    if not spoken:
        raise InputError(f"{model.name} says nothing of its texts", corpus.paths[0])
    values = {each.name: getattr(corpus, each.name) for each in fields(Corpus)}
    return TranslatedCorpus(**values, examples=spoken)
