"""What a model predicts for a text, by what it has on top: the same with heads on and off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.corpus import Example
from headscope.model import Model, Top
from headscope.tasks.translation import translate

SHOWN = 5
"""Words that are shown of a distribution."""


@dataclass(frozen=True)
class Prediction:
    """What a model says of a text.

    Attributes:
        title: what the values are.
        values: by what they are of; a text that was said has none.
        said: the text that a model of two stacks says.
    """

    title: str
    values: dict[str, float]
    said: str | None = None


@torch.inference_mode()
def predict(model: Model, top: Top, text: str, others: Sequence[str]) -> Prediction | None:
    """What a model predicts; None where it has nothing to say of the text."""
    if model.translates:
        return _translation(model, text)
    if top is Top.NONE:
        return _similarity(model, text, others)
    (pieces,) = model.encode([Example("text", text=text)])
    logits: Tensor = model.whole(**model.batch([pieces]).inputs(model.whole)).logits[0]
    if top is Top.CLASSIFIER:
        names = getattr(model.whole.config, "id2label", None) or {}
        chances = logits.softmax(-1).tolist()
        values = {str(names.get(place, place)): chance for place, chance in enumerate(chances)}
        return Prediction("label", values)
    if top is Top.CAUSAL_LM:
        return Prediction("next token", _likeliest(model, logits[len(pieces) - 1]))
    masked = [place for place, one in enumerate(pieces.ids) if one == model.tokenizer.mask_token_id]
    if not masked:
        return None
    return Prediction("masked word", _likeliest(model, logits[masked[0]]))


def _likeliest(model: Model, logits: Tensor) -> dict[str, float]:
    chances, places = logits.float().softmax(-1).topk(SHOWN)
    words = [str(model.tokenizer.decode([place])).strip() for place in places.tolist()]
    return dict(zip(words, chances.tolist(), strict=True))


def _similarity(model: Model, text: str, others: Sequence[str]) -> Prediction | None:
    """The cosine of mean-pooled last layers, as the task `similarity` has it."""
    if not others:
        return None
    texts = [Example(str(number), text=one) for number, one in enumerate((text, *others))]
    embedded = []
    for pieces in model.encode(texts):  # one by one: padding changes nothing
        states: Tensor = model.network(**model.batch([pieces]).inputs(model.network))[0][0]
        embedded.append(states.mean(0))
    first, rest = embedded[0], torch.stack(embedded[1:])
    alike = torch.nn.functional.cosine_similarity(rest, first[None]).tolist()
    return Prediction("similarity", dict(zip(others, alike, strict=True)))


def _translation(model: Model, text: str) -> Prediction:
    (pieces,) = model.encode([Example("text", text=text)])
    said = translate(model, model.batch([pieces]).inputs(model.network))
    return Prediction("translation", {}, said[0])
