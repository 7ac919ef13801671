"""Scan: watch a model read corpora, every analysis in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope._util.progress import Progress
    from headscope.analyses import Analysis
    from headscope.corpus import Corpus
    from headscope.experiments.scan.settings import Settings
    from headscope.model import Model
    from headscope.runs import RunResults


def scan(
    model: Model | str | Path,
    *data: Corpus | str | Path,
    out: str | Path | None = None,
    only: Sequence[str | type[Analysis]] | None = None,
    settings: Settings | None = None,
    options: Mapping[str, object] | None = None,
    gradients: bool = False,
    generate: bool = False,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Watch a model read corpora: every analysis in one pass, with evidence on every number.

    Args:
        data: corpora, each reported by itself.
        out: a run folder, which makes the scan resumable; None keeps the results in memory.
        only: names of analyses, or classes of your own; None means all that the annotation allows.
        settings: how the corpora are read; part of what identifies a run.
        options: of analyses, by name: `{"dependencies": {"possessive": True}}`.
        gradients: also follow the masked-LM loss of the texts to attention; the model must have
            been loaded with that head (for other tasks see `importance`).
        generate: let a model with an encoder and a decoder translate the texts first, and analyse
            what it says.

    >>> from headscope import read
    >>> results = scan("minilm", read("tour", limit=24), only=["focus"])
    >>> results.table("heads").num_rows
    237
    """
    from headscope.corpus import Corpus, read
    from headscope.experiments.base import run_study
    from headscope.experiments.scan.compute import Scan
    from headscope.experiments.scan.settings import Settings
    from headscope.model import Model, load

    scanned = Scan(
        model if isinstance(model, Model) else load(model),
        [source if isinstance(source, Corpus) else read(source) for source in data],
        only,
        (settings or Settings()).with_options(options or {}),
        gradients=gradients,
        generate=generate,
    )
    return run_study(scanned, out=out, progress=progress, command=command)
