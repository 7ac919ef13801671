"""Untrained networks that read a sample of each corpus: what heads do that know nothing."""

from __future__ import annotations

from headscope.evidence import Margins, Statistic, margins
from headscope.experiments.scan.passes import together, watch
from headscope.experiments.scan.plan import Plan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model, reinitialise
from headscope.runs import RunFolder

FIRST_SEED = 7919
"""Of the networks; far from the seeds that users choose for networks of their own."""
Subject = tuple[str, str, str]
"""What was read: the corpus, its inputs, the attention (`Pass.key`)."""


class UntrainedNetworks:
    """Networks of a model's architecture with random weights; one at a time is in memory."""

    def __init__(self, model: Model, plans: list[Plan], settings: Settings) -> None:
        self.model, self.plans = model, plans
        first = settings.seed + FIRST_SEED
        self.seeds = range(first, first + settings.untrained)

    @property
    def texts(self) -> int:
        """How many texts all of them read."""
        parts = [part for plan in self.plans for part in plan.parts]
        return len(self.seeds) * sum(len(part.survey.sample) for part in parts)

    def read(self, folder: RunFolder | None) -> tuple[dict[Subject, dict[str, Margins]], int]:
        """How far heads that know nothing are from the null hypotheses, by what was read and by
        analysis; and how many groups of passes that took.
        """
        networks: dict[Subject, dict[str, list[list[Statistic]]]] = {}
        number = 0
        for seed in self.seeds:
            network = reinitialise(self.model, seed)
            passes = (each for plan in self.plans for each in plan.passes(network, sample=True))
            for group in together(passes):
                result = watch(group, folder, number)
                number += 1
                for each in group.passes:
                    known = networks.setdefault(each.key, {})
                    for analysis in each.restore(result, each.prefix):
                        known.setdefault(analysis.name, []).append(list(analysis.statistics()))
        by_subject = {
            subject: {name: margins(statistics) for name, statistics in known.items()}
            for subject, known in networks.items()
        }
        return by_subject, number
