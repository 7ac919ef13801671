"""Pruning: remove the heads that a task needs least, and measure what that costs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from headscope._util.atomic import explain_write_errors, write_text
from headscope._util.naming import parse_heads
from headscope._util.progress import Progress
from headscope.errors import HeadscopeError, ModelError
from headscope.experiments._shared.head_curves import (
    CERTIFY,
    CHOICE,
    PRUNING,
    TEST,
    ScoreChange,
)
from headscope.experiments._shared.held_out import BUDGET, HeldOut
from headscope.experiments._shared.identity import task_study
from headscope.experiments.base import Experiment
from headscope.experiments.finetuning.compute import (
    CHECKPOINTS,
    Steps,
    checkpoint_size,
    saving,
    size_of,
    train,
)
from headscope.experiments.finetuning.hyperparameters import Hyperparameters
from headscope.experiments.pruning.card import model_card
from headscope.experiments.pruning.curves import PruningCurves
from headscope.experiments.pruning.helpful import helpful_heads
from headscope.experiments.pruning.orders import Order
from headscope.experiments.pruning.remarks import drop_warning, helpful_warning, random_warning
from headscope.experiments.pruning.speed import model_speedup
from headscope.experiments.pruning.tables import (
    CERTIFICATION,
    NAMED,
    REMOVALS,
    CertificationRow,
    Promise,
    PrunedModel,
    PruningSummary,
    Refusal,
)
from headscope.experiments.pruning.target import PruningTarget
from headscope.model import Model, disable, evaluating, remove, save
from headscope.model.pruned.onnx import export_onnx, real_tokens
from headscope.runs import ResultBuilder, RunFolder, Study, run
from headscope.tasks import Classification, Regression, Task

EQUAL = 1e-5
"""Largest difference that counts as equal outputs, relative to the largest output."""
ONNX = "model.onnx"


class Pruning(Experiment):
    """One model without the heads that one task needs least.

    The run folder lies in the folder of the pruned model.

    Attributes:
        parts: of the data: to choose heads by, to certify how many may go where the target has a
            limit, and to state the loss on. The part to certify by comes from the held-out data,
            because a model may have been trained on the part to choose by.
    """

    name = "pruning"

    def __init__(
        self,
        model: Model,
        choice: Task,
        test: Task,
        target: PruningTarget,
        certify: Task | None = None,
    ) -> None:
        if target.tune and not isinstance(choice, Classification | Regression):
            raise HeadscopeError(f"{choice.name} has nothing to train; --tune needs a classifier")
        target.check_metric(test.metrics[0])
        model.check_length(target.max_length)
        self.model, self.parts, self.target = model, {TEST: test, CHOICE: choice}, target
        if certify is not None:
            self.parts[CERTIFY] = certify
        self.named: set[tuple[int, int]] | None = None
        if target.heads is not None:
            chosen = parse_heads(target.heads, model.head_counts, model.attentions)
            self.named = {(layer, head) for layer, heads in chosen.items() for head in heads}

    def study(self) -> Study:
        """What identifies the pruning."""
        return task_study(
            self.name, self.model, self.parts[TEST], self.target.options(), self.parts[CHOICE]
        )

    def prepare(self, progress: Progress) -> None:
        """Refuse a family whose heads cannot be removed; encode both parts of the data."""
        self.progress, target = progress, self.target
        how = target.replacement
        self.data = HeldOut(self.model, self.parts, how, target.max_length, target.seed)
        remove(self.model, sorted(self.named or self.model.places[:1]), self.data.means)
        self.curves = PruningCurves(
            self.data, target.selections, target.limit, target.schedule, progress
        )

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Draw the curves, choose heads, remove them, check, measure, save."""
        self._draw_curves(folder)
        gone = self._gone()
        network = remove(self.model, self.model.places_of(gone), self.data.means)
        home = folder.path.parent if folder else None
        pruned = self._measure(network, gone)
        if self.target.tune and home:
            self._tune(network, home)
            pruned = replace(pruned, tuned=self._score(network))
        if home:
            pruned = replace(pruned, onnx=self._save(network, home))
        summary = self._summary(pruned, gone)
        if home:
            write_text(home / "README.md", model_card(network, self.study(), summary))
        builder = ResultBuilder()
        builder.add_rows(PRUNING, self.curves.rows())
        builder.add_rows(REMOVALS, self.curves.removals())
        if self.target.limit is not None:
            builder.add_rows(CERTIFICATION, self._certification())
        builder.summarise(summary)
        return builder

    def _gone(self) -> Order:
        """The heads to remove, by number."""
        if self.named is None:
            return self.curves.removable(self.target.keep)
        return [number for number, place in enumerate(self.model.places) if place in self.named]

    def _draw_curves(self, folder: RunFolder | None) -> None:
        curves, sizes = self.curves, self.data.sizes
        certify = f"{sizes.certify:,} to certify how many heads may go, " if sizes.certify else ""
        self.progress.say(
            f"{sizes.choice:,} examples to choose by, {certify}{sizes.test:,} others to state the "
            "loss"
        )
        self.progress.begin(f"{self.model.name} on {self.parts[TEST].name}", curves.cost)
        curves.merged = run(curves.selections, curves.work, folder, 0, curves)
        self.progress.end()

    def _measure(self, pruned: Model, gone: Order) -> PrunedModel:
        """Describe a pruned model; raises an error where its outputs are not what they must be."""
        data, by, total = self.data, self.curves.by, self.data.total
        difference = output_difference(data, pruned, gone)
        if difference > EQUAL:
            raise ModelError(
                f"the pruned model's outputs differ by {difference:.1e} from those of the "
                "intact one with the same heads off; nothing was saved"
            )
        return PrunedModel(
            by=str(by.criterion) if self.named is None else NAMED,
            method=str(by) if self.named is None else NAMED,
            kept=total - len(gone),
            heads=total,
            removed=[self.model.head_name(*pair) for pair in self.model.places_of(sorted(gone))],
            difference=difference,
            parameters=(parameter_count(self.model), parameter_count(pruned)),
            speed=model_speedup(self.model, pruned, data.parts[TEST], data.cases[TEST]),
            test=self._score(pruned),
            timed=data.parts[TEST].timed,
            random=self.curves.random_removals(len(gone)),
        )

    def _score(self, pruned: Model) -> list[ScoreChange]:
        """The metrics of a pruned model on the held-out part."""
        return self.data.score_changes(self.data.predict(pruned, TEST), TEST)

    def _tune(self, pruned: Model, home: Path) -> None:
        """Fine-tune a pruned model on the choosing data."""
        task = self.parts[CHOICE]
        assert isinstance(task, Classification | Regression)
        chosen = Hyperparameters(
            epochs=self.target.tune,
            max_length=self.data.max_length or 128,
            seed=self.data.seed,
        )
        steps = Steps(self.progress, f"{pruned.name}, pruned, on {task.name}")
        with saving(home, checkpoint_size(pruned, chosen.epochs)):
            train(pruned, task, chosen, home / CHECKPOINTS, steps)

    def _save(self, pruned: Model, home: Path) -> float | None:
        """Write the model; returns how far the ONNX file is from it, None without one."""
        with saving(home, size_of(pruned.whole.parameters())):
            save(pruned, home)
        shutil.rmtree(home / CHECKPOINTS, ignore_errors=True)
        if not self.target.onnx:
            return None
        try:
            with explain_write_errors(home / ONNX):
                return export_onnx(pruned, home / ONNX)
        except ModelError as error:
            self.progress.say(f"no ONNX file: {error}")
            return None

    def _certification(self) -> Iterator[CertificationRow]:
        """The tests of how many heads may go."""
        task, curves = self.parts[CERTIFY].name, self.curves
        for step in curves.steps():
            about = (task, self.data.metric.name, str(curves.by), step.removed, self.data.total)
            yield CertificationRow(*about, **vars(step.estimate), accepted=step.accepted)

    def _summary(self, pruned: PrunedModel, gone: Order) -> PruningSummary:
        intact = self.data.scores()
        self.progress.say("each removed head off alone")
        part = CERTIFY if CERTIFY in self.parts else CHOICE
        warnings = [
            random_warning(pruned.test[0], intact[0], pruned.random),
            helpful_warning(helpful_heads(self.data, part, gone), intact[0]),
        ]
        limit = self.target.limit
        if limit is not None:
            warnings.insert(0, drop_warning(pruned.final[0], intact[0], limit.max_drop))
        said = [warning for warning in warnings if warning]
        for warning in said:
            self.progress.say(f"note: {warning}")
        return PruningSummary(intact, self.data.sizes, pruned, self._promise(), said)

    def _promise(self) -> Promise | None:
        """What is promised of the loss on new data, and what ended the sequence of tests."""
        limit = self.target.limit
        if limit is None:
            return None
        test, last = self.data.loss_test(CERTIFY), self.curves.steps()[-1]
        refusal = None
        if not last.accepted:
            needed = test.needed(last.estimate, limit.max_drop, limit.level)
            refusal = Refusal(last.removed, last.estimate.loss, last.estimate.p, needed)
        return Promise(
            limit.max_drop, limit.confidence, test.exact, len(test.gold), refusal=refusal
        )


@torch.inference_mode()
def output_difference(data: HeldOut, pruned: Model, gone: Order) -> float:
    """Largest difference of the last layer's outputs of a pruned model from those of the intact
    one with the same heads off, relative to the largest output, or to 1 where that is more.
    """
    model = data.model
    difference, largest, off = 0.0, 1.0, model.places_of(gone)
    for batch in data.parts[TEST].batches(model, data.cases[TEST], BUDGET):
        inputs = batch.inputs(model)
        real = batch.batch.real_outputs
        outputs = real_tokens(pruned.network(**inputs)[0], real)
        with evaluating(model.network), disable(model, off, data.how, data.means):
            expected = real_tokens(model.network(**inputs)[0], real)
        difference = max(difference, float((outputs - expected).abs().max()))
        largest = max(largest, float(expected.abs().max()))
    return difference / largest


def parameter_count(model: Model) -> int:
    """Parameters of a model, with what is on top."""
    return sum(parameter.numel() for parameter in model.whole.parameters())
