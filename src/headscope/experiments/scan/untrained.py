"""Untrained networks that read a sample of each corpus: what heads do that know nothing."""

from __future__ import annotations

from headscope.evidence import Margins, Statistic, margins
from headscope.experiments.scan.passes import Together, together, watch
from headscope.experiments.scan.plan import Plan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model, reinitialise
from headscope.runs import RunFolder

FIRST_SEED = 7919
"""Of the networks; far from the seeds that users choose for networks of their own."""


def untrained_groups(model: Model, plans: list[Plan], settings: Settings) -> list[Together]:
    """What untrained networks of a model's architecture are to read."""
    seeds = range(settings.seed + FIRST_SEED, settings.seed + FIRST_SEED + settings.untrained)
    networks = [reinitialise(model, seed) for seed in seeds]
    passes = (plan.passes(each, sample=True) for each in networks for plan in plans)
    return together(each for some in passes for each in some)


def margins_by_pass(
    groups: list[Together], folder: RunFolder | None
) -> dict[tuple[str, str, str], dict[str, Margins]]:
    """What the heads of untrained networks do, by what was read and by analysis."""
    networks: dict[tuple[str, str, str], dict[str, list[list[Statistic]]]] = {}
    for number, group in enumerate(groups):
        result = watch(group, folder, number)
        for each in group.passes:
            known = networks.setdefault(each.key, {})
            for analysis in each.restore(result, each.prefix):
                known.setdefault(analysis.name, []).append(list(analysis.statistics()))
    return {
        key: {name: margins(statistics) for name, statistics in known.items()}
        for key, known in networks.items()
    }
