"""Probes of a model on a treebank, wired to a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from headscope._util.progress import Progress
from headscope.analyses import described
from headscope.corpus import Corpus, read
from headscope.corpus.files import digest
from headscope.corpus.vectors import read_vectors
from headscope.errors import HeadscopeError, InputError
from headscope.evidence import best_rows, rows
from headscope.experiments.base import Work, recorded, versions
from headscope.experiments.probe.compute import JOBS, Parsing, held_out
from headscope.experiments.probe.sentences import Sentence, sentences
from headscope.experiments.probe.word_attention import ROOM
from headscope.experiments.scan.gather import sizes_of
from headscope.model import Model, load
from headscope.runs import Results, RunFolder, run, table_of
from headscope.runs.found import Found
from headscope.runs.results import PROBES


def probe(
    model: Model | str | Path,
    train: Corpus | str | Path,
    test: Corpus | str | Path,
    *,
    dev: Corpus | str | Path | None = None,
    vectors: str | Path | None = None,
    out: str | Path | None = None,
    seeds: int = 3,
    labels: bool = False,
    max_length: int | None = None,
    seed: int = 0,
    cache: int = ROOM,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> Found:
    """Parsers made of nothing but attention, and of attention and words, beside their baselines.

    Args:
        train, test: treebanks; dev: what training is stopped by, None: a tenth of `train`, whole
            documents.
        vectors: of words, GloVe's text or an npz; None: the model's own input embeddings.
        out: a run folder, which makes it resumable; None keeps the results in memory.
        seeds: how many times each probe is trained.
        labels: also tell relations, for LAS.
        cache: bytes that attention may take on disk for each part.

    >>> tour = read("tour", limit=24)
    >>> from headscope._util.progress import NoProgress
    >>> found = probe("minilm", tour, tour, seeds=1, progress=NoProgress())
    >>> sorted({row["measure"] for row in found.probes.to_pylist()})
    ['UAS', 'UAS as trees', 'control', 'selectivity']
    """
    model = model if isinstance(model, Model) else load(model)
    model.check_length(max_length)
    if seeds < 1:
        raise HeadscopeError(f"probes are trained with at least 1 seed, not {seeds}")
    named = {"train": train, "dev": dev, "test": test}
    corpora = {
        name: one if isinstance(one, Corpus) else read(one)
        for name, one in named.items()
        if one is not None
    }
    path = None if vectors is None else Path(vectors)
    study = {
        "experiment": "probe",
        "model": model.describe(),
        "data": [one.describe() | {"part": name} for name, one in corpora.items()],
        "options": {"vectors": None if path is None else [path.name, digest(path)],
                    "seeds": seeds, "labels": labels, "max_length": max_length, "seed": seed},
        "versions": versions(),
    }  # fmt: skip

    def prepare(shown: Progress) -> Work:
        parts = {name: _sentences(model, one, max_length, shown) for name, one in corpora.items()}
        if "dev" not in parts:
            parts["train"], parts["dev"] = held_out(parts["train"])
        for name, some in parts.items():
            if not some:
                raise HeadscopeError(f"no sentences of two words or more in the {name} part")
        words = {word for some in parts.values() for one in some for word in one.words}
        known = None if path is None else read_vectors(path, words)
        if known is not None:
            found = sum(known.row_of(word) is not None for word in words) / len(words)
            shown.say(f"{known.name}: vectors of {known.size} numbers for {found:.1%} of the words")
        folder = None if out is None else Path(out)
        work = Parsing(model, parts, known, seeds, seed, labels, cache, folder, shown)
        return lambda folder: _work(work, corpora["test"].name, folder)

    return recorded(study, prepare, out=out, progress=progress, command=command)


def _sentences(
    model: Model, corpus: Corpus, max_length: int | None, shown: Progress
) -> list[Sentence]:
    pieces = model.encode([one for one in corpus if one.heads], max_length)
    if not pieces:
        raise InputError("no syntactic heads in it; a probe needs a treebank", corpus.paths[0])
    for one in pieces:
        model.check_not_truncated(one, max_length, corpus.paths[0])
    made = sentences(pieces)
    lost = sum(int((tree.heads < 0).sum()) for tree in made)
    if lost:
        shown.say(f"{corpus.name}: the heads of {lost:,} words are not seen; they do not count")
    return made


def _work(work: Parsing, corpus: str, folder: RunFolder | None) -> Results:
    """Train every probe and turn what they do into tables."""
    shown = work.progress
    sizes = {name: len(some) for name, some in work.parts.items()}
    shown.say(", ".join(f"{name}: {size:,} sentences" for name, size in sizes.items()))
    shown.begin(f"{work.model.name} on {corpus}: probes", work.cost)
    try:
        work.merged = run(JOBS, work.work, folder, 0, work)
    finally:
        work.close()
    shown.end()
    found = work.statistics()
    place = (corpus, work.model.weights)
    texts = [one.pieces for one in work.parts["test"]]
    record: dict[str, Any] = {
        "tables": ["heads", "chosen", "probes"],
        "analyses": [described(Parsing.name, Parsing, found)],
        "corpora": [{"corpus": corpus, "weights": place[1]} | sizes_of(texts, len(texts))],
        "left_out": {},
        "sentences": sizes,
    }  # fmt: skip
    table = pa.Table.from_pylist([{"corpus": corpus} | row for row in work.rows()], schema=PROBES)
    return Results(
        record,
        table_of([rows(found, Parsing.name, *place)]),
        table_of([best_rows(found, Parsing.name, *place)]),
        probes=table,
    )
