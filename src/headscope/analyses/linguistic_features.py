"""Attention to linguistic features (Kovaleva et al. 2019, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.base import Analysis, analysis, option
from headscope.corpus import Annotation
from headscope.corpus.features import FEATURES, word_features
from headscope.evidence import Statistic, Tally, Unit
from headscope.model import Batch, LayerAttention

GROUPS = (*FEATURES, "first", "separator")
QUERIES = ("from all", "from first")
HEADLINES = {
    "from all": {name: f"attention to a {name}" for name in FEATURES},
    "from first": {},
}
HEADLINES["from all"] |= {name: f"attention to an {name}" for name in ("object",)}
HEADLINES["from all"]["negation"] = "attention to a negation"


def features_of(batch: Batch, negations: tuple[str, ...] = ()) -> list[dict[str, list[int]]]:
    """The features of every text of a batch."""
    return batch.once(
        (word_features, negations),
        lambda: [word_features(one.example, one.words, negations) for one in batch.pieces],
    )


@dataclass(frozen=True)
class FeatureOptions:
    """Which words are negations."""

    negations: tuple[str, ...] = option((), "Negating words of the language, instead of English.")


@analysis("linguistic_features")
class LinguisticFeatures(Analysis):
    """How much attention a noun, pronoun, verb, subject, object or negation receives on average,
    the one of the text that receives most; over the texts that have one.

    Per text the mean over all queries of the weight on each token of the feature, and the
    largest of these; averaged over texts. From first: the same from the first token alone. Parts
    of speech and relations come from the annotation; negation is a list of words. The baseline
    attends to all visible tokens alike.
    """

    options_type = FeatureOptions
    optional_annotation: ClassVar[dict[Annotation, str]] = {
        Annotation.TAGS: "nouns, pronouns, verbs",
        Annotation.TREES: "subjects, objects",
    }

    def make_tallies(self) -> None:
        size = len(QUERIES) * len(GROUPS)
        self.largest = Tally(self.shape, size)
        self.uniform = Tally(self.shape, size, heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        tokens, counts, uniform = attention.visible.once(
            self, lambda: self._known(attention, batch)
        )
        sums = self._largest(attention, tokens)
        self.largest.add(attention.layer, sums, counts, batch.buckets)
        self.uniform.add(attention.layer, uniform, counts, batch.buckets)

    def _known(self, attention: LayerAttention, batch: Batch) -> tuple[Tensor, ...]:
        tokens = torch.zeros(len(batch.pieces), len(FEATURES), batch.ids.shape[1])
        found = features_of(batch, self.options.negations)
        for row, (pieces, known) in enumerate(zip(batch.pieces, found, strict=True)):
            words = np.zeros((len(FEATURES), len(pieces.words) + 1), np.float32)  # last: specials
            for place, positions in enumerate(known.values()):
                words[place, positions] = 1
            tokens[row, :, : len(pieces)] = torch.from_numpy(words[:, pieces.word])
        roles = torch.stack([batch.first, batch.separator], 1).float()
        tokens = torch.cat([tokens.to(roles.device), roles], 1)  # (example, feature, token)
        counts = tokens.any(-1).float().repeat(1, len(QUERIES))[:, None]
        return tokens, counts, self._largest(attention.uniform, tokens)

    def _largest(self, attention: LayerAttention, tokens: Tensor) -> Tensor:
        """(example, head, query group x feature)."""
        received = attention.received / attention.batch.real.sum(1)[:, None, None]
        both = torch.stack([received, attention.weights[:, :, 0]], 2)  # from all, from first
        return (both.unsqueeze(3) * tokens[:, None, None]).amax(-1).flatten(2)

    def statistics(self) -> Iterator[Statistic]:
        text = "mean weight on the token of this feature that receives most"
        for place, direction in enumerate(QUERIES):
            part = slice(place * len(GROUPS), (place + 1) * len(GROUPS))
            largest, uniform = self.largest.part(part), self.uniform.part(part)
            yield Statistic(
                "largest", largest, uniform, Unit.SHARE, text, GROUPS, direction,
                HEADLINES[direction],
            )  # fmt: skip
