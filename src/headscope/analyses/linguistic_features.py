"""Attention to linguistic features (Kovaleva et al. 2019, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, ScoredMean, analysis, option
from headscope.corpus import Annotation
from headscope.corpus.features import FEATURES, word_features
from headscope.evidence import Mean, Statistic, Unit
from headscope.model import Batch
from headscope.model.attention import ANY, Received, Request, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

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

    kinds = ANY

    def make_tallies(self) -> None:
        self.largest = Mean(self.layout, len(QUERIES) * len(GROUPS))

    def ask(self, view: View) -> dict[str, Request]:
        real = view.queries.real
        every = real / real.sum(1, keepdim=True)
        return {"received": Received(torch.stack([every, view.queries.first], -1))}

    def observe(self, seen: Seen) -> None:
        tokens, counts = seen.view.once(self, lambda: self._tokens(seen.view.keys))
        sums, uniform = (
            (received.unsqueeze(3) * tokens[:, None, None]).amax(-1)
            for received in (seen["received"], seen.uniform("received"))
        )
        self.largest.add(seen, sums, counts, uniform)

    def _tokens(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """(example, feature, token) 0 or 1, and which features each example has."""
        tokens = torch.zeros(len(batch.pieces), len(FEATURES), batch.ids.shape[1])
        by_text = features_of(batch, self.options.negations)
        for row, (pieces, positions) in enumerate(zip(batch.pieces, by_text, strict=True)):
            words = np.zeros((len(FEATURES), len(pieces.words) + 1), np.float32)  # last: specials
            for place, feature in enumerate(positions.values()):
                words[place, feature] = 1
            tokens[row, :, : len(pieces)] = torch.from_numpy(words[:, pieces.word])
        roles = torch.stack([batch.first, batch.separator], 1).float()
        tokens = torch.cat([tokens.to(roles.device), roles], 1)
        return tokens, tokens.any(-1).float().repeat(1, len(QUERIES))[:, None]

    def scored_means(self) -> Iterator[ScoredMean]:
        groups = {name: place for place, name in enumerate(GROUPS) if name in HEADLINES[QUERIES[0]]}
        yield ScoredMean("largest", self.largest, groups, QUERIES[0])

    def statistics(self) -> Iterator[Statistic]:
        text = "mean weight on the token of this feature that receives most"
        for place, direction in enumerate(QUERIES):
            part = slice(place * len(GROUPS), (place + 1) * len(GROUPS))
            options = {"direction": direction, "headlines": HEADLINES[direction]}
            largest = self.largest.part(part)
            yield Statistic.of("largest", largest, Unit.SHARE, text, groups=GROUPS, **options)
