"""Word order: how much broader heads look when the words of a text are shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headscope.plugin import Corpus, Model, Progress, RunResults, load, run_study


def word_order(
    model: Model | str,
    data: Corpus,
    *,
    out: Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Compare the entropy of every head on texts as they are and with their words shuffled."""
    from headscope_sample.word_order.compute import WordOrder

    model = model if isinstance(model, Model) else load(model)
    return run_study(WordOrder(model, data, seed), out=out, progress=progress, command=command)
