"""Probes: parsers trained on nothing but attention, or on attention and words (Clark et al. 2019,
section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope._util.progress import Progress
    from headscope.corpus import Corpus
    from headscope.model import Model
    from headscope.runs import RunResults


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
    cache: int = 4 << 30,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Train parsers on attention, and on attention and words, next to their baselines.

    Args:
        train, test: treebanks.
        dev: a treebank for early stopping; None: a tenth of `train`, whole documents.
        vectors: word vectors, in GloVe's text format or npz; None: the model's own input
            embeddings.
        out: a run folder, which makes it resumable; None keeps the results in memory.
        seeds: how many times each probe is trained.
        labels: also predict relations, for LAS.
        cache: bytes on disk for the attention of each part.

    >>> from headscope import read
    >>> from headscope._util.progress import NoProgress
    >>> tour = read("tour", limit=24)
    >>> results = probe("minilm", tour, tour, seeds=1, progress=NoProgress())
    >>> sorted(set(results.table("probes")["measure"].to_pylist()))
    ['UAS', 'UAS as trees', 'control', 'selectivity']
    """
    from headscope.corpus import Corpus, read
    from headscope.experiments.base import run_study
    from headscope.experiments.probe.compute import Probing
    from headscope.model import Model, load

    treebanks = {"train": train, "dev": dev, "test": test}
    experiment = Probing(
        model if isinstance(model, Model) else load(model),
        {
            name: treebank if isinstance(treebank, Corpus) else read(treebank)
            for name, treebank in treebanks.items()
            if treebank is not None
        },
        vectors=None if vectors is None else Path(vectors),
        seeds=seeds,
        labels=labels,
        max_length=max_length,
        seed=seed,
        cache=cache,
    )
    return run_study(experiment, out=out, progress=progress, command=command)
