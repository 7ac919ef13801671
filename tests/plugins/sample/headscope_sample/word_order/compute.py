"""The experiment itself."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

import torch

from headscope.plugin import (
    Corpus,
    DataRecord,
    Entropy,
    Example,
    Experiment,
    Model,
    ModelRecord,
    Progress,
    Request,
    ResultBuilder,
    RunFolder,
    Seen,
    Study,
    View,
    versions,
)
from headscope_sample.word_order.tables import WORD_ORDER, WordOrderRow, WordOrderSummary


class MeanEntropy:
    """Watches the entropy of the rows of every head."""

    def __init__(self) -> None:
        self.sums: dict[int, torch.Tensor] = defaultdict(lambda: torch.zeros(()))
        self.rows = 0.0

    def ask(self, view: View) -> dict[str, Request]:
        return {"entropy": Entropy(over=view.queries.real[..., None].float())}

    def observe(self, seen: Seen) -> None:
        self.sums[seen.site.place] = self.sums[seen.site.place] + seen["entropy"][..., 0].sum(0)
        if seen.site.place == 0:
            self.rows += float(seen.view.queries.real.sum())


class WordOrder(Experiment):
    """One model, one corpus, its texts in order and shuffled."""

    name = "word_order"

    def __init__(self, model: Model, data: Corpus, seed: int) -> None:
        self.model, self.data, self.seed = model, data, seed

    def study(self) -> Study:
        return Study(
            ModelRecord(**self.model.describe()),
            versions(),
            {"seed": self.seed},
            experiment=self.name,
            data=[DataRecord(**self.data.describe())],
        )

    def prepare(self, progress: Progress) -> None:
        self.progress = progress
        self.examples = [example for example in self.data if example.words]

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        draw = random.Random(self.seed)
        shuffled = [
            Example(example.id, words=tuple(draw.sample(example.words, len(example.words))))
            for example in self.examples
        ]
        ordered = [Example(example.id, words=example.words) for example in self.examples]
        before, after = (self._entropy(texts) for texts in (ordered, shuffled))
        builder = ResultBuilder()
        builder.add_rows(
            WORD_ORDER,
            (
                WordOrderRow(layer, head, float(before[layer, head]), float(after[layer, head]))
                for layer in range(self.model.layers)
                for head in range(self.model.heads)
            ),
        )
        builder.summarise(WordOrderSummary(len(self.examples)))
        return builder

    def _entropy(self, examples: list[Example]) -> torch.Tensor:
        """(layer, head) the mean entropy of all rows."""
        watcher = MeanEntropy()
        with self.model.watch(watcher) as tap:
            for example in examples:
                tap.forward(self.model.batch(self.model.encode([replace(example)])))
        layers = [watcher.sums[layer] for layer in range(self.model.layers)]
        return torch.stack(layers) / watcher.rows
