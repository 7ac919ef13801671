"""The scan itself: passes of models over corpora, and what they brought in as tables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import torch

from headscope._util.progress import Progress
from headscope.analyses import Analysis, choose, describe_class
from headscope.corpus import Corpus
from headscope.errors import HeadscopeError
from headscope.experiments._shared.identity import data_record, model_record
from headscope.experiments._shared.layouts import layout_of
from headscope.experiments._shared.loss_gradients import Gradients
from headscope.experiments.base import Experiment, versions
from headscope.experiments.importance.compute import Importance
from headscope.experiments.scan.gather import add_pass
from headscope.experiments.scan.generation import check_speaks, translated
from headscope.experiments.scan.passes import forecast, together, watch
from headscope.experiments.scan.plan import check, check_something_to_do, make_plans
from headscope.experiments.scan.settings import Settings
from headscope.experiments.scan.untrained import UntrainedNetworks
from headscope.model import Model, reinitialise
from headscope.runs import ResultBuilder, RunFolder, Study
from headscope.tasks import MaskedLM


class Scan(Experiment):
    """One model, or also the same untrained, over some corpora."""

    name = "scan"

    def __init__(
        self,
        model: Model,
        corpora: list[Corpus],
        only: Sequence[str | type[Analysis]] | None,
        settings: Settings,
        *,
        gradients: bool = False,
        generate: bool = False,
    ) -> None:
        self.model, self.corpora, self.settings = model, corpora, settings
        self.only, self.gradients, self.generate = only, gradients, generate
        self.kinds = choose(only)
        check(model, corpora, settings)
        if generate:
            check_speaks(model)
        if gradients and model.translates:
            raise HeadscopeError(
                f"{model.name} has no masked-LM head; headscope importance follows the loss of "
                "translations (translate-loss:FILE)"
            )
        if gradients and not _has_masked_lm(model):
            raise HeadscopeError(
                f"{model.name} was loaded without a masked-LM head, so there is no loss to "
                "follow; headscope importance follows that of a task"
            )

    def study(self) -> Study:
        """What identifies the scan."""
        study = scan_study(self.model, self.corpora, self.kinds, self.settings, self.gradients)
        return (
            replace(study, options=study.options | {"generate": True}) if self.generate else study
        )

    def prepare(self, progress: Progress) -> None:
        """Survey the corpora and plan the passes."""
        settings = self.settings
        corpora = self.corpora
        if self.generate:
            length = settings.max_length
            corpora = [translated(self.model, each, length, progress) for each in corpora]
        self.plans = make_plans(self.model, corpora, self.kinds, settings, progress)
        if self.only is not None:
            check_something_to_do(self.plans)
        models = [self.model]
        if settings.random_weights:
            models.append(reinitialise(self.model, settings.seed))
        self.groups = together(
            each for model in models for plan in self.plans for each in plan.passes(model)
        )
        self.untrained = UntrainedNetworks(self.model, self.plans, settings)
        if progress.visible:
            progress.say(forecast(self.groups, self.untrained.texts))
        self.losses = [
            Importance(
                self.model,
                MaskedLM(corpus.name, corpus, settings.seed),
                max_length=settings.max_length,
                seed=settings.seed,
            )
            for corpus in self.corpora
            if self.gradients
        ]
        for loss in self.losses:
            loss.prepare(progress)

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Do every pass, follow every loss, and turn what they brought in into tables."""
        begun = time.perf_counter()
        builder = ResultBuilder(layout_of(self.model))
        margins, first = self.untrained.read(folder)
        for number, group in enumerate(self.groups, first):
            result = watch(group, folder, number)
            for each in group.passes:
                add_pass(builder, each, result, margins.get(each.key))
        for number, loss in enumerate(self.losses, first + len(self.groups)):
            loss.run_cases(folder, number, f"{loss.task.name}, gradients")
            builder.add_statistics(
                Gradients.name,
                describe_class(Gradients),
                loss.gradients().statistics(),
                loss.task.name,
                loss.model.weights,
            )
        for plan in self.plans:
            left_out = builder.left_out.setdefault(plan.corpus.name, {})
            builder.left_out[plan.corpus.name] = plan.left_out | left_out
        builder.seconds = round(time.perf_counter() - begun, 1)
        builder.threads = torch.get_num_threads()
        return builder


def _has_masked_lm(model: Model) -> bool:
    return model.with_top is not None and model.with_top.get_output_embeddings() is not None


def scan_study(
    model: Model,
    corpora: list[Corpus],
    kinds: list[type[Analysis]],
    settings: Settings,
    gradients: bool = False,
) -> Study:
    """What identifies a scan."""
    options = settings.describe(kinds)
    return Study(
        model_record(model),
        versions(),
        options | ({"gradients": True} if gradients else {}),
        data=[data_record(corpus) for corpus in corpora],
        analyses=[kind.name for kind in kinds],
    )
