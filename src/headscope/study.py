"""A study: a model, corpora, analyses and a run folder wired together."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from headscope.analyses import Analysis, about, choose
from headscope.corpus import (
    Corpus,
    read,
)
from headscope.errors import HeadscopeError
from headscope.evidence import best_rows, rows
from headscope.found import Found
from headscope.model import Model, load, untrained
from headscope.passes import Options, Pass, forecast, shards, survey
from headscope.progress import Silent, progress_for_terminal
from headscope.runs import Results, RunFolder, check_folder, run, table_of
from headscope.runs.results import maps_table


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
        models = [model] + ([untrained(model, options.seed)] if options.random_weights else [])
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
