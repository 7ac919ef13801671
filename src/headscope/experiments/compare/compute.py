"""What fine-tuning changes: maps of two models on the same texts (Kovaleva et al. 2019, 4.3)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from headscope._util.naming import SELF
from headscope._util.progress import Progress
from headscope.analyses import Analysis, choose, describe_class
from headscope.corpus import BUCKETS, Corpus, Pieces
from headscope.errors import HeadscopeError, ModelError
from headscope.evidence import (
    HEADS,
    Layout,
    Margins,
    Mean,
    ShardResult,
    Statistic,
    Tally,
    Unit,
    head_rows,
)
from headscope.evidence.example_tables import ARCS
from headscope.experiments._shared.identity import model_record
from headscope.experiments.base import Experiment
from headscope.experiments.compare.tables import BASE, CHANGE, DIFFERENCE, TUNED
from headscope.experiments.scan.compute import scan_study
from headscope.experiments.scan.gather import add_corpus
from headscope.experiments.scan.passes import Pass, Watching
from headscope.experiments.scan.plan import check, check_something_to_do, make_plans
from headscope.experiments.scan.settings import Settings
from headscope.experiments.scan.untrained import UntrainedNetworks
from headscope.model import Model, WorkItems, map_parallel
from headscope.model.attention import MapWatcher, Seen
from headscope.runs import ResultBuilder, RunFolder, Study, run


class Comparison(Experiment):
    """Two models, or three, over the same corpora.

    Attributes:
        models: by role: `base`, `tuned` and, where there is a third, `beside`.
    """

    name = CHANGE

    def __init__(
        self,
        models: dict[str, Model],
        corpora: list[Corpus],
        only: Sequence[str] | None,
        settings: Settings,
    ) -> None:
        self.models, self.corpora, self.only, self.settings = models, corpora, only, settings
        base, *others = models.values()
        base.check_one_stack("a comparison")
        if models[TUNED].network is base.network:
            raise HeadscopeError("a model in memory cannot be compared with itself; load it twice")
        for other in others:
            check_alike(base, other)
        self.kinds = choose(only)
        check(base, corpora, settings)

    def study(self) -> Study:
        """What identifies the comparison."""
        return replace(
            scan_study(self.models[BASE], self.corpora, self.kinds, self.settings),
            experiment=self.name,
            models={role: model_record(model) for role, model in self.models.items()},
        )

    def prepare(self, progress: Progress) -> None:
        """Survey the corpora and plan the passes."""
        base = self.models[BASE]
        self.plans = make_plans(base, self.corpora, self.kinds, self.settings, progress)
        if self.only is not None:
            check_something_to_do(self.plans)

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Do every pass and turn what it brought in into tables."""
        begun = time.perf_counter()
        builder = ResultBuilder()
        leads = [lead for plan in self.plans for lead in plan.passes(self.models[BASE])]
        untrained = UntrainedNetworks(self.models[BASE], self.plans, self.settings)
        margins, first = untrained.read(folder)
        for number, lead in enumerate(leads, first):
            passes = {role: replace(lead, model=model) for role, model in self.models.items()}
            step = Lockstep(passes)
            title = f"{lead.corpus.name}, {len(self.models)} models"
            lead.progress.begin(title, lead.survey.examples)
            result = run(lead.shards(), step.work, folder, number, step)
            lead.progress.end()
            add_lockstep(builder, step, result, margins.get(lead.key))
        builder.left_out = {plan.corpus.name: plan.left_out for plan in self.plans}
        builder.seconds = round(time.perf_counter() - begun, 1)
        builder.threads = torch.get_num_threads()
        return builder


@dataclass
class Lockstep:
    """Several models over one corpus; each reads a batch before the next batch is made.

    Attributes:
        passes: by the role of their model.
    """

    passes: dict[str, Pass]

    @property
    def lead(self) -> Pass:
        """The pass of the model that the others are compared with."""
        return self.passes[BASE]

    def skip(self, result: ShardResult) -> None:
        """What an earlier process had done counts as done."""
        self.lead.skip(result)

    def work(self, shard: list[Pieces]) -> ShardResult:
        """Watch all models read one shard."""
        result = ShardResult()
        replicas = zip(*(each.replicas for each in self.passes.values()), strict=False)
        workers = [dict(zip(self.passes, models, strict=True)) for models in replicas]
        for part in map_parallel(workers, self.lead.batches(shard), self._read):
            result.merge(part)
        return result

    def _read(self, models: dict[str, Model], batches: WorkItems[list[Pieces]]) -> ShardResult:
        """Watch models read some batches, one after the other."""
        shard = [pieces for texts in batches.items for pieces in texts]
        similarity = Similarity(
            Layout(BUCKETS, self.lead.model.layers, self.lead.model.heads, self.lead.model.uneven)
        )
        watching = {
            role: Watching(each, shard, examples=False) for role, each in self.passes.items()
        }
        watchers = {role: each.watchers for role, each in watching.items()}
        watchers[BASE].append(similarity.first)
        watchers[TUNED].append(similarity.second)
        weighted = self.lead.settings.norm_weighted
        with ExitStack() as stack:
            taps = [
                stack.enter_context(model.watch(*watchers[role], norm_weighted=weighted))
                for role, model in models.items()
            ]
            for texts in batches:
                batch = models[BASE].batch(texts)
                for tap in taps:
                    tap.forward(batch)
                self.lead.progress.advance(len(texts))
        result = ShardResult()
        for role, each in watching.items():
            result.merge(each.collect(f"{role} "))
        result.tallies[CHANGE] = similarity.mean.tally
        result.counts["examples"] = len(shard)
        return result


def add_lockstep(
    builder: ResultBuilder,
    step: Lockstep,
    result: ShardResult,
    margins: Mapping[str, Margins] | None,
) -> None:
    """Add the numbers of every model, and what differs between the first two.

    Args:
        margins: by analysis, what heads that know nothing do; None: not known.
    """
    corpus = step.lead.corpus.name
    analyses = {role: each.restore(result, f"{role} ") for role, each in step.passes.items()}
    for same in zip(*analyses.values(), strict=True):
        _add_analysis(builder, dict(zip(analyses, same, strict=True)), corpus, margins)
    if (corpus, BASE, SELF) not in builder.corpora:  # texts come before windows
        statistic = similarity_statistic(result.tallies[CHANGE])
        builder.add_rows(HEADS, head_rows([statistic], CHANGE, corpus, DIFFERENCE))
    builder.add_rows(ARCS)  # examples of best heads are left to scans of one model
    for role, each in step.passes.items():
        add_corpus(builder, each, role, result, analyses[role], prefix=f"{role} ")


def _add_analysis(
    builder: ResultBuilder,
    analyses: dict[str, Analysis],
    corpus: str,
    margins: Mapping[str, Margins] | None,
) -> None:
    """Add the numbers of one analysis, of every model and of the difference of the first two.

    Args:
        analyses: by the role of the model that they watched.
    """
    kind = type(analyses[BASE])
    about = describe_class(kind)
    statistics = {role: list(analysis.statistics()) for role, analysis in analyses.items()}
    for role, analysis in analyses.items():
        builder.add_statistics(
            kind.name,
            about,
            statistics[role],
            corpus,
            role,
            margins=None if margins is None else margins[kind.name],
        )
        builder.add_declared(kind.tables, analysis.table_rows(corpus, role))
    pairs = zip(statistics[BASE], statistics[TUNED], strict=True)
    differences = [difference(before, after) for before, after in pairs if not before.per_model]
    builder.add_rows(HEADS, head_rows(differences, kind.name, corpus, DIFFERENCE))


class Similarity:
    """The cosine of flattened maps, per head, averaged over texts.

    The maps of the first model wait for those of the second, one batch at a time.

    Attributes:
        first, second: the watchers of the two models.
    """

    def __init__(self, layout: Layout) -> None:
        self.mean = Mean(layout, baseline=False)
        self._before: dict[int, Tensor] = {}
        self.first, self.second = MapWatcher(self._keep), MapWatcher(self._compare)

    def _keep(self, seen: Seen, maps: Tensor) -> None:
        """Keep a layer of the first model."""
        self._before[seen.site.place] = maps.clone()

    def _compare(self, seen: Seen, maps: Tensor) -> None:
        """Compare a layer of the second model with the same of the first."""
        cosines = cosine(self._before.pop(seen.site.place), maps, seen.view.queries.real)
        self.mean.add(seen, cosines[..., None], cosines.new_ones(len(cosines), 1, 1))


def cosine(before: Tensor, after: Tensor, real: Tensor) -> Tensor:
    """(example, head) the cosine of two maps, flattened, over the rows of real tokens.

    Args:
        before, after: (example, head, query, key)
        real: (example, token)
    """
    rows = real[:, None, :].to(before.dtype)
    product, left, right = (
        (torch.linalg.vecdot(a, b) * rows).sum(-1)
        for a, b in ((before, after), (before, before), (after, after))
    )
    cosines: Tensor = product / (left * right).sqrt()
    return cosines


def similarity_statistic(tally: Tally) -> Statistic:
    """The cosine as a statistic."""
    return Statistic(
        "similarity",
        tally,
        None,
        Unit.SHARE,
        "cosine of the maps before and after, flattened, averaged over texts; 1: unchanged",
    )


def difference(before: Statistic, after: Statistic) -> Statistic:
    """After minus before, paired: both models saw the same texts."""
    sums = after.tally.sums - before.tally.sums
    zero = Tally.of(np.zeros_like(before.tally.counts), before.tally.counts)
    return Statistic(
        before.name,
        Tally.of(sums, before.tally.counts),
        zero,
        Unit.POINTS if before.unit is Unit.SHARE else before.unit,
        f"after minus before: {before.about}",
        before.groups,
        before.direction,
        per_layer=before.per_layer,
    )


def check_alike(base: Model, other: Model) -> None:
    """Refuse models that do not have the same heads or do not read the same tokens."""
    if base.head_counts != other.head_counts:
        raise ModelError(
            f"{base.name} has {base.layers} layers of {base.heads} heads, {other.name} "
            f"{other.layers} of {other.heads}: there is nothing to compare head by head"
        )
    if base.tokenizer.get_vocab() != other.tokenizer.get_vocab():
        raise ModelError(
            f"{base.name} and {other.name} have different tokenizers: they would not see the same "
            "tokens"
        )
