"""Two models side by side on the same texts, in lockstep: what fine-tuning changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from headscope._util.progress import Progress
from headscope.analyses import choose
from headscope.corpus import BUCKETS, Corpus, Pieces, read
from headscope.errors import HeadscopeError
from headscope.evidence import Shape, ShardResult, best_rows, rows
from headscope.experiments.base import Work, recorded
from headscope.experiments.compare.compute import Similarity, check_alike, difference, similarity
from headscope.experiments.scan import Plan, check, describe, left_out, planned
from headscope.experiments.scan.gather import Gathered
from headscope.experiments.scan.passes import Options, Pass, Watching
from headscope.model import LayerAttention, Model, WorkItems, load, map_parallel
from headscope.runs import Results, RunFolder, run
from headscope.runs.found import Found

BASE, TUNED, BESIDE, DIFFERENCE = "base", "tuned", "beside", "difference"
"""The values of the column `weights`: who a number is of."""
CHANGE = "change"


def compare(
    base: Model | str | Path,
    tuned: Model | str | Path,
    *data: Corpus | str | Path,
    beside: Model | str | Path | None = None,
    out: str | Path | None = None,
    only: Sequence[str] | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> Found:
    """Compare two models head by head: how alike their maps are, and every statistic of a scan.

    Args:
        beside: a third model whose statistics stand beside (the same task from random weights
            tells what comes from pre-training).
        only: names of analyses; None means all that the annotation allows.

    >>> found = compare("minilm", "minilm", read("tour", limit=12), only=["focus"])
    >>> round(found.change()[0]["value"], 3)
    1.0
    """
    named = {BASE: base, TUNED: tuned} | ({BESIDE: beside} if beside is not None else {})
    models = {role: one if isinstance(one, Model) else load(one) for role, one in named.items()}
    if models[TUNED].network is models[BASE].network:
        raise HeadscopeError("a model in memory cannot be compared with itself; load it twice")
    for other in list(models.values())[1:]:
        check_alike(models[BASE], other)
    options = options or Options()
    corpora = [one if isinstance(one, Corpus) else read(one) for one in data]
    kinds = choose(list(only) if only is not None else None)
    check(models[BASE], corpora, options)
    study = describe(models[BASE], corpora, kinds, options) | {"experiment": CHANGE}
    study |= {"models": {role: model.describe() for role, model in models.items()}}

    def prepare(shown: Progress) -> Work:
        plans = planned(models[BASE], corpora, kinds, options, shown)
        return lambda folder: _work(models, plans, folder)

    return recorded(study, prepare, out=out, progress=progress, command=command)


@dataclass
class Lockstep:
    """Several models over one corpus; each reads a batch before the next batch is made."""

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
        replicas = zip(*(one.replicas for one in self.passes.values()), strict=False)
        workers = [dict(zip(self.passes, models, strict=True)) for models in replicas]
        for part in map_parallel(workers, self.lead.batches(shard), self._read):
            result.merge(part)
        return result

    def _read(self, models: dict[str, Model], batches: WorkItems[list[Pieces]]) -> ShardResult:
        """Watch models read some batches, one after the other."""
        shard = [pieces for some in batches.items for pieces in some]
        alike = Similarity(Shape(BUCKETS, self.lead.model.layers, self.lead.model.heads))
        extra = {BASE: [alike.first], TUNED: [alike.second]}
        watching = {role: Watching(one, shard) for role, one in self.passes.items()}
        with ExitStack() as stack:
            taps = [
                stack.enter_context(
                    model.watch(
                        _all([watching[role].observe, *extra.get(role, [])], self.lead.options)
                    )
                )
                for role, model in models.items()
            ]
            for some in batches:
                batch = models[BASE].batch(some)
                for tap in taps:
                    tap.forward(batch)
                self.lead.progress.advance(len(some))
        result = ShardResult()
        for role, one in watching.items():
            result.merge(one.collect(f"{role} "))
        result.tallies[CHANGE] = alike.tally
        result.counts["examples"] = len(shard)
        return result


def _all(
    observers: list[Callable[[LayerAttention], None]], options: Options
) -> Callable[[LayerAttention], None]:
    def observe(attention: LayerAttention) -> None:
        shown = options.shown(attention)
        for observer in observers:
            observer(shown)

    return observe


def _work(models: dict[str, Model], plans: list[Plan], folder: RunFolder | None) -> Results:
    """Do every pass and turn what it brought in into tables."""
    gathered, part = Gathered(), 0
    for one in plans:
        for lead in one.passes(models[BASE]):
            step = Lockstep({role: replace(lead, model=model) for role, model in models.items()})
            lead.progress.begin(f"{lead.corpus.name}, {len(models)} models", lead.survey.examples)
            result = run(lead.shards(), step.work, folder, part, step)
            lead.progress.end()
            part += 1
            gather(gathered, step, result)
    return gathered.results(left_out(plans))


def gather(gathered: Gathered, step: Lockstep, result: ShardResult) -> None:
    """Take in the numbers of every model, and what differs between the first two."""
    corpus = step.lead.corpus.name
    restored = {role: one.restore(result, f"{role} ") for role, one in step.passes.items()}
    for analyses in zip(*restored.values(), strict=True):
        kind = type(analyses[0])
        found = dict(zip(restored, ([*one.statistics()] for one in analyses), strict=True))
        for role, statistics in found.items():
            gathered.heads.append(rows(statistics, kind.name, corpus, role))
            gathered.best.append(best_rows(statistics, kind.name, corpus, role))
        for role, one in zip(restored, analyses, strict=True):
            gathered.take_tables(one, corpus, role)
        pairs = zip(found[BASE], found[TUNED], strict=True)
        differ = [difference(one, other) for one, other in pairs if not one.whole]
        gathered.heads.append(rows(differ, kind.name, corpus, DIFFERENCE))
        gathered.describe(kind, found[BASE])
    if (corpus, BASE) not in gathered.corpora:  # texts come before windows
        alike = [similarity(result.tallies[CHANGE])]
        gathered.heads.append(rows(alike, CHANGE, corpus, DIFFERENCE))
    for role, one in step.passes.items():
        gathered.note(one, role, result, f"{role} ")
