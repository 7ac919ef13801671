"""A study: a model, corpora, analyses and a run folder wired together."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from headscope.analyses import Analysis, Needs, about, choose
from headscope.analyses.maps import Maps
from headscope.corpus import (
    BUCKETS,
    Budget,
    Corpus,
    Pieces,
    Survey,
    bucket_of,
    frequencies_from,
    plan,
    read,
)
from headscope.errors import HeadscopeError, InputError
from headscope.evidence import Harvest, Shape, best_rows, rows
from headscope.found import Found
from headscope.model import LayerAttention, Model, load
from headscope.progress import Silent, duration, progress_for_terminal
from headscope.runs import Results, RunFolder, check_folder, run, table_of
from headscope.runs.results import maps_table

SHARD = 1024
"""Examples read, batched by length and merged at a time: bounds memory and what a kill costs."""


@dataclass(frozen=True)
class Options:
    """How a scan is done; part of what identifies a run.

    Attributes:
        max_length: cut texts to so many pieces; None: the model's limit, and a longer text is an
            error, because cutting must be asked for.
        frequencies: `corpus`, or `wordfreq:LANGUAGE`.
        random_weights: add the same architecture untrained, drawn with `seed`.
    """

    max_length: int | None = None
    frequencies: str = "corpus"
    random_weights: bool = False
    seed: int = 0
    budget: Budget = field(default_factory=Budget)


def scan(
    model: Model | str | Path,
    *data: Corpus | str | Path,
    out: str | Path | None = None,
    only: Sequence[str] | None = None,
    options: Options | None = None,
    progress: Silent | None = None,
    command: Sequence[str] = (),
) -> Found:
    """Watch a model read corpora: every analysis in one pass, with evidence on every number.

    Args:
        data: corpora, each reported by itself.
        out: a run folder, which makes the scan resumable; None keeps the results in memory.
        only: names of analyses; None means all.

    >>> found = scan("minilm", read("tour", limit=24), only=["focus"], progress=Silent())
    >>> found.heads.num_rows
    237
    """
    options = options or Options()
    model = model if isinstance(model, Model) else load(model)
    corpora = [one if isinstance(one, Corpus) else read(one) for one in data]
    kinds = choose(list(only) if only is not None else None)
    _check(model, corpora, options)
    study = describe(model, corpora, kinds, options)
    earlier = check_folder(Path(out), study) if out is not None else None
    if earlier and earlier["status"] == "complete":
        return Found.read(out or "")
    with progress or progress_for_terminal() as shown:
        surveys = [survey(model, corpus, kinds, options, shown) for corpus in corpora]
        models = [model] + ([_untrained(model, options)] if options.random_weights else [])
        passes = [
            Pass(watched, corpus, found, kinds, options, shown)
            for watched in models
            for corpus, found in zip(corpora, surveys, strict=True)
        ]
        shown.say(forecast(passes))
        if out is None:
            return Found(**vars(_work(passes, None, study, command)))
        with RunFolder(Path(out), study, _about(command)) as folder:
            found = Found(**vars(_work(passes, folder, study, command)))
            found.report(Path(out) / "report.html")
            return found


def _check(model: Model, corpora: list[Corpus], options: Options) -> None:
    if not corpora:
        raise HeadscopeError("nothing to scan: name at least one corpus")
    names = [corpus.name for corpus in corpora]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise HeadscopeError(f"two corpora are called {twice!r}; rename one of the files")
    if options.max_length is not None and not 3 <= options.max_length <= model.max_length:
        limit = f"between 3 and the {model.max_length} that {model.name} takes"
        raise HeadscopeError(f"--max-length is {options.max_length}, not {limit}")


def describe(
    model: Model, corpora: list[Corpus], kinds: list[type[Analysis]], options: Options
) -> dict[str, Any]:
    """What identifies a study: the same study gives the same numbers."""
    return {
        "model": model.describe(),
        "data": [corpus.describe() for corpus in corpora],
        "analyses": [kind.name for kind in kinds],
        "options": asdict(options),
        "versions": {name: version(name) for name in ("headscope", "torch", "transformers")},
    }


def _about(command: Sequence[str]) -> dict[str, Any]:
    system = {"python": platform.python_version(), "platform": platform.platform()}
    return {"command": list(command) or sys.argv, "system": system, "format": 1}


def survey(
    model: Model,
    corpus: Corpus,
    kinds: list[type[Analysis]],
    options: Options,
    progress: Silent,
) -> Survey:
    """One look over a corpus before the model sees it: sizes, word frequencies, bad input."""
    found = Survey()
    counting = any(Needs.FREQUENCIES in kind.needs for kind in kinds)
    if counting:
        found.frequencies = frequencies_from(options.frequencies)
    for shard in shards(model, corpus, options):
        for pieces in shard:
            _within_limit(pieces, model, corpus, options)
            found.examples += 1
            found.pieces += len(pieces)
            found.longest = max(found.longest, len(pieces))
            found.cut += pieces.lost > 0
            found.lost += pieces.lost
            found.units.add(bucket_of(pieces.example.unit))
            if counting:
                found.frequencies.count(pieces.words)
    if not found.examples:
        chosen = f" with a document like {corpus.documents!r}" if corpus.documents else ""
        raise InputError(f"no examples{chosen} in it", corpus.paths[0])
    if found.cut:
        progress.say(
            f"{corpus.name}: {found.cut:,} of {found.examples:,} texts are cut to "
            f"{options.max_length} pieces; {found.lost:,} pieces are not seen"
        )
    return found


def _within_limit(pieces: Pieces, model: Model, corpus: Corpus, options: Options) -> None:
    if pieces.lost and options.max_length is None:
        length = len(pieces) + pieces.lost
        raise InputError(
            f"example {pieces.example.id} has {length} pieces and {model.name} takes "
            f"{model.max_length}; to cut long texts, ask for it: --max-length {model.max_length}",
            corpus.paths[0],
        )


def shards(model: Model, corpus: Corpus, options: Options) -> Iterator[list[Pieces]]:
    """The corpus as pieces, so many examples at a time, in its own order."""
    examples = iter(corpus)
    while shard := list(islice(examples, SHARD)):
        yield model.encode(shard, options.max_length)


def _untrained(model: Model, options: Options) -> Model:
    """The same architecture with random weights, on the same device."""
    return load(
        model.name,
        random_weights=True,
        seed=options.seed,
        device=str(model.network.device),
        dtype=str(model.network.dtype).removeprefix("torch."),
    )


@dataclass
class Pass:
    """One model over one corpus."""

    model: Model
    corpus: Corpus
    survey: Survey
    kinds: list[type[Analysis]]
    options: Options
    progress: Silent

    def start(self) -> list[Analysis]:
        """The analyses with empty tallies."""
        shape = Shape(BUCKETS, self.model.layers, self.model.heads)
        return [kind(shape, self.survey) for kind in self.kinds]

    def skip(self, harvest: Harvest) -> None:
        """What an earlier process had done counts as done."""
        self.progress.advance(harvest.counts["examples"])

    def work(self, shard: list[Pieces]) -> Harvest:
        """Watch the model read one shard."""
        analyses, maps = self.start(), Maps(shard)

        def observe(attention: LayerAttention) -> None:
            for analysis in analyses:
                analysis.observe(attention, attention.batch)
            maps.observe(attention, attention.batch)

        with self.model.watch(observe) as tap:
            for places in plan([len(pieces) for pieces in shard], self.options.budget):
                tap.forward(self.model.batch([shard[place] for place in places]))
                self.progress.advance(len(places))
        harvest = Harvest()
        for analysis in analyses:
            harvest.tallies |= {f"{analysis.name} {k}": v for k, v in analysis.tallies.items()}
        harvest.exemplars = maps.finish(self.model.tokens)
        harvest.counts["examples"] = len(shard)
        return harvest

    def restore(self, harvest: Harvest) -> list[Analysis]:
        """The analyses with the tallies of a harvest."""
        analyses = self.start()
        for analysis in analyses:
            for name in analysis.tallies:
                setattr(analysis, name, harvest.tallies[f"{analysis.name} {name}"])
        return analyses

    def seconds(self) -> float:
        """How long the pass will take, from a few batches of its first texts."""
        sample = next(shards(self.model, self.corpus, self.options))[:64]
        batches = plan([len(pieces) for pieces in sample], self.options.budget)
        analyses = self.start()

        def observe(attention: LayerAttention) -> None:
            for analysis in analyses:
                analysis.observe(attention, attention.batch)

        with self.model.watch(observe) as tap:
            tap.forward(self.model.batch([sample[place] for place in batches[0]]))  # warm up
            begin = time.perf_counter()
            for places in batches:
                tap.forward(self.model.batch([sample[place] for place in places]))
            taken = time.perf_counter() - begin
        return taken / sum(len(pieces) for pieces in sample) * self.survey.pieces


def forecast(passes: list[Pass]) -> str:
    """What will be done and how long it will take, said beforehand."""
    first = passes[0]
    texts = sum(one.survey.examples for one in passes)
    pieces = sum(one.survey.pieces for one in passes)
    seconds = sum(one.seconds() for one in passes)
    shape = f"{first.model.layers} x {first.model.heads} heads of {first.model.name}"
    return f"{shape} on {texts:,} texts ({pieces:,} pieces): about {duration(seconds)}"


def _work(
    passes: list[Pass], folder: RunFolder | None, study: dict[str, Any], command: Sequence[str]
) -> Results:
    """Do every pass and turn what it brought in into tables."""
    begin = time.perf_counter()
    heads, best, maps, corpora = [], [], [], []
    statistics: dict[str, dict[str, Any]] = {}
    for part, one in enumerate(passes):
        random = " (random weights)" if one.model.weights == "random" else ""
        one.progress.begin(f"{one.corpus.name}{random}", one.survey.examples)
        harvest = run(shards(one.model, one.corpus, one.options), one.work, folder, part, one)
        one.progress.end()
        for analysis in one.restore(harvest):
            found = list(analysis.statistics())
            label = (analysis.name, one.corpus.name, one.model.weights)
            heads += [rows(statistic, *label) for statistic in found]
            best += [best_rows(statistic, *label) for statistic in found]
            short, details = about(type(analysis))
            statistics[analysis.name] = {
                "analysis": analysis.name,
                "about": short,
                "details": details,
                "statistics": [statistic.describe() for statistic in found],
            }
        maps.append(maps_table(harvest.exemplars, one.corpus.name, one.model.weights))
        corpora.append(_summary(one))
    record = _about(command) | {
        "study": study,
        "analyses": list(statistics.values()),
        "corpora": corpora,
        "seconds": round(time.perf_counter() - begin, 1),
        "threads": torch.get_num_threads(),
    }
    results = Results(record, table_of(heads), table_of(best), pa.concat_tables(maps))
    if folder:
        folder.finish(results)
    return results


def _summary(one: Pass) -> dict[str, Any]:
    """What a reader must know of a corpus to judge the numbers."""
    return {
        "corpus": one.corpus.name,
        "weights": one.model.weights,
        "examples": one.survey.examples,
        "pieces": one.survey.pieces,
        "longest": one.survey.longest,
        "cut": one.survey.cut,
        "lost": one.survey.lost,
        "buckets": len(one.survey.units),
    }
