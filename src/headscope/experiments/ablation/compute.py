"""Ablation: every head off, every layer off, one at a time (Kovaleva et al. 2019, section 4.6)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope._util.progress import Progress
from headscope.corpus import Budget
from headscope.evidence import ShardResult
from headscope.evidence.interval import benjamini_hochberg
from headscope.evidence.metrics import Metric, Score
from headscope.evidence.paired import Paired, Resamples
from headscope.evidence.sequential import Decider, Verdict, final_verdict
from headscope.experiments._shared.identity import task_study
from headscope.experiments._shared.mean_outputs import average_head_outputs
from headscope.experiments.ablation.tables import ABLATION, AblationRow, AblationSummary
from headscope.experiments.ablation.variants import Variant, chosen_sets, every_head_and_layer
from headscope.experiments.base import Experiment
from headscope.model import (
    Model,
    Replacement,
    VariantRunner,
    disable,
    parse_replacement,
    reads_first_only,
)
from headscope.runs import ResultBuilder, RunFolder, Study, run
from headscope.tasks import Case, CaseBatch, Task

Floats = NDArray[np.float64]
SHARDS = 8
"""The examples are cut into so many, unless they would be too small or too large."""
SMALLEST, LARGEST = 32, 512
PREDICTIONS = "predictions"
MARGIN = 0.01
"""Effects smaller than this count as no effect."""
ROOM = 256 << 20
"""Bytes for the hidden states that the variants of a batch pass on."""


class Ablation(Experiment):
    """One model, one task, variants with something off; shard by shard.

    Attributes:
        variants: what is off in turn: every head and every layer, or chosen sets of heads.
        how: output substituted for a head that is off.
        decider: stop evaluating a variant whose verdict is decided; None: evaluate everything.
    """

    name = "ablation"

    def __init__(
        self,
        model: Model,
        task: Task,
        *,
        heads: Sequence[str] | None = None,
        how: str = "uniform",
        max_length: int | None = None,
        seed: int = 0,
        decider: Decider | None = None,
    ) -> None:
        self.model, self.task, self.decider = model, task, decider
        self.heads, self.how = heads, parse_replacement(how)
        self.max_length, self.seed = max_length, seed
        model.check_length(max_length)
        self.variants = chosen_sets(model, heads) if heads else every_head_and_layer(model)
        self.means: Tensor | None = None

    def study(self) -> Study:
        """What identifies the ablation."""
        options = {
            "how": str(self.how),
            "max_length": self.max_length,
            "seed": self.seed,
            "heads": list(self.heads) if self.heads else None,
            "budget": asdict(self.decider) if self.decider else None,
        }
        return task_study(self.name, self.model, self.task, options)

    def prepare(self, progress: Progress) -> None:
        """Encode the examples and cut them into shards."""
        self.progress = progress
        examples = list(self.task.examples)
        random.Random(self.seed).shuffle(examples)  # early looks must see a fair sample
        self.cases = self.task.cases(self.model, examples, self.max_length)
        size = min(LARGEST, max(SMALLEST, math.ceil(len(self.cases) / SHARDS)))
        self.parts = [self.cases[at : at + size] for at in range(0, len(self.cases), size)]
        self.gold = np.array([case.gold for case in self.cases])
        looks = self.decider.looks if self.decider else 1
        self.looks = {len(self.parts) * look // looks for look in range(1, looks)}
        self.parts_done = 0
        self.decided: set[int] = set()
        self.done: Floats = np.empty((0, len(self.variants) + 1, *self.task.width))
        self.first_only = self._first_only()

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Do the sweep and turn the predictions into a table."""
        progress = self.progress
        progress.say(
            f"{self.task.name}: {len(self.cases):,} examples x {len(self.variants):,} heads and "
            "layers off" + (", the last layer for the first token alone" if self.first_only else "")
        )
        progress.begin(f"{self.model.name} on {self.task.name}", self.cost)
        run(self.parts, self.work, folder, 0, self)
        progress.end()
        warnings = self.warnings()
        for warning in warnings:
            progress.say(f"note: {warning}")
        builder = ResultBuilder()
        builder.add_rows(ABLATION, self.rows)
        builder.summarise(AblationSummary(self.intact, len(self.cases), self.margin, warnings))
        return builder

    @property
    def metric(self) -> Metric:
        """The metric that verdicts are about."""
        return self.task.metrics[0]

    @property
    def margin(self) -> float:
        """Effects smaller than this count as no effect."""
        return self.decider.margin if self.decider else MARGIN

    @property
    def cost(self) -> int:
        """Evaluations of one example that the whole sweep asks for."""
        return len(self.cases) * (len(self.variants) + 1)

    @property
    def budget(self) -> Budget:
        """How large a batch may be, so that what its variants hand on has room."""
        size = self.model.width * 4
        tokens = ROOM // (size * (len(self.variants) + 1))
        tokens = min(256, max(128, tokens))
        return Budget(tokens, tokens * 128)

    def skip(self, result: ShardResult) -> None:
        """Take up what an earlier process had done."""
        earlier, at = result.columns[PREDICTIONS], 0
        for part in self.parts:
            if at == len(earlier):
                break
            self.take(earlier[at : at + len(part)])  # part by part: so were verdicts decided
            at += len(part)
        self.progress.advance(len(self.done) * self.done.shape[1])

    def work(self, cases: list[Case]) -> ShardResult:
        """Predictions of the intact model and of every variant that is still in question."""
        if self.how is Replacement.MEAN and self.means is None:
            self.means = average_head_outputs(self.model, self.task, self.cases, self.budget)
        found = np.full((len(cases), *self.done.shape[1:]), np.nan)
        forked, others = self._split()
        runner = VariantRunner(
            self.model,
            {layer: [sets for _, sets in some] for layer, some in forked.items()},
            self.how,
            self.means,
            self.first_only,
        )
        for batch in self.task.batches(self.model, cases, self.budget):
            rows = list(batch.places)
            intact, layers = self._run_variants(runner, batch)
            found[rows, 0] = intact
            for layer, values in layers.items():
                for (place, _), predictions in zip(forked[layer], values, strict=True):
                    found[rows, place + 1] = predictions
            self.progress.advance(len(rows) * (len(self.variants) + 1 - len(others)))
        for place in others:
            heads = [
                (layer, head)
                for layer, heads in self.variants[place].heads.items()
                for head in heads
            ]
            with disable(self.model, heads, self.how, self.means):
                found[:, place + 1] = self.task.predict(self.model, cases, self.budget)
            self.progress.advance(len(cases))
        self.take(found)
        result = ShardResult()
        result.columns[PREDICTIONS] = found
        return result

    def _split(self) -> tuple[dict[int, list[tuple[int, list[int]]]], list[int]]:
        """Variants in question: those of one layer by layer, and the others."""
        forked: dict[int, list[tuple[int, list[int]]]] = {}
        others = []
        for place, variant in enumerate(self.variants):
            if place in self.decided:
                continue
            if variant.layer is None:
                others.append(place)
            else:
                forked.setdefault(variant.layer, []).append((place, variant.heads[variant.layer]))
        return forked, others

    def _run_variants(
        self, runner: VariantRunner, batch: CaseBatch
    ) -> tuple[Floats, dict[int, Floats]]:
        intact, layers = runner(batch.inputs(self.model), self._reader(batch))
        made = {layer: values.double().cpu().numpy() for layer, values in layers.items()}
        return intact.double().cpu().numpy(), made

    def _reader(self, batch: CaseBatch) -> Any:
        return lambda inputs, times: self.task.read(self.model, batch, inputs, times)

    def _first_only(self) -> bool:
        """Whether the task reads the first token alone."""
        batch = self.task.batches(self.model, self.cases[:4], self.budget)[0]
        return reads_first_only(self.model, batch.inputs(self.model), self._reader(batch))

    def take(self, predictions: Floats) -> None:
        """Add predictions; in a budget, drop the variants that are decided."""
        self.done = np.concatenate([self.done, predictions])
        self.parts_done += 1
        if self.decider is None or self.parts_done not in self.looks:
            return
        paired = self._paired(self.metric, len(self.done))
        for place in range(len(self.variants)):
            if place not in self.decided:
                effect = paired.effect(self.done[:, place + 1])
                if self.decider.verdict(effect, self.metric) is not Verdict.UNCLEAR:
                    self.decided.add(place)

    def _paired(self, metric: Metric, seen: int) -> Paired:
        units = [case.example.unit for case in self.cases[:seen]]
        resamples = Resamples(units, seed=self.seed)
        return Paired.of(metric, self.done[:seen, 0], self.gold[:seen], resamples)

    @cached_property
    def rows(self) -> list[AblationRow]:
        """After all shards: one row per metric and variant; q is corrected over the variants of
        one kind. In a budget, a verdict is what the decider says of the examples that were tried.
        """
        rows = []
        for metric in self.task.metrics:
            effects = self._effects(metric)
            for unit in dict.fromkeys(row.unit for row in effects):
                same = [row for row in effects if row.unit == unit]
                chances = benjamini_hochberg(np.array([row.p for row in same]))
                rows += [
                    self._judged(metric, row, float(q))
                    for row, q in zip(same, chances, strict=True)
                ]
        return rows

    def _judged(self, metric: Metric, row: AblationRow, q: float) -> AblationRow:
        """A row with its corrected p and, where no budget decided it, its verdict."""
        verdict = row.verdict
        if not self.decider:
            verdict = str(final_verdict(metric, row.delta, (row.low, row.high), q, self.margin))
        return replace(row, q=q, verdict=verdict)

    def _effects(self, metric: Metric) -> list[AblationRow]:
        """What each variant does to a metric, on the examples that it was tried on."""
        first = self.done if not self.task.width else self.done[..., 0]
        seen = np.isfinite(first[:, 1:]).sum(0)
        paired = {size: self._paired(metric, size) for size in sorted({int(n) for n in seen})}
        return [
            self._row(variant, paired[int(n)], column[: int(n)])
            for variant, n, column in zip(
                self.variants, seen, self.done[:, 1:].swapaxes(0, 1), strict=True
            )
        ]

    def _row(self, variant: Variant, paired: Paired, predictions: Floats) -> AblationRow:
        effect, metric = paired.effect(predictions), paired.metric
        p, verdict = paired.p(predictions, effect), ""
        if self.decider:
            p = min(1.0, p * self.decider.looks)  # at whichever look it ended
            verdict = str(self.decider.verdict(effect, metric))
        attention, layer = variant.place(self.model)
        return AblationRow(
            self.task.name,
            metric.name,
            variant.unit,
            variant.name,
            layer,
            variant.head,
            effect.value,
            effect.delta,
            effect.low,
            effect.high,
            p,
            float("nan"),
            len(predictions),
            effect.changed,
            verdict,
            attention=attention,
        )

    @cached_property
    def intact(self) -> list[Score]:
        """After all shards: the metrics of the intact model (see `Task.score`)."""
        return self.task.score(self.done[:, 0], self.cases, self.seed)

    def warnings(self) -> list[str]:
        """What a reader must know before believing anything: a model that is no better than
        guessing, data that cannot show small effects.
        """
        warnings = []
        first = self.intact[0]
        name, n = first.metric, len(self.cases)
        if first.nothing is not None:
            gap = (first.value - first.nothing) * first.better
            if gap < 2 * first.error:
                warnings.append(
                    f"the intact model's {name} ({first.value:.3f}) is within two standard "
                    f"errors of always guessing the commonest class ({first.nothing:.3f}): what "
                    "heads do for this task cannot be told from this model"
                )
        widths = [
            (row.high - row.low) / 2 for row in self.rows if row.metric == name and row.changed
        ]
        if widths and np.median(widths) > self.margin:
            warnings.append(
                f"with {n:,} examples the difference that a head makes is known to about "
                f"±{np.median(widths):.3f} of {name} (half of a typical interval): smaller effects "
                "than that cannot be seen"
            )
        return warnings
