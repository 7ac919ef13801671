"""Compare: two models on the same texts, head by head; what fine-tuning changed (Kovaleva et al.
2019, section 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope._util.progress import Progress
    from headscope.corpus import Corpus
    from headscope.evidence import HeadRow
    from headscope.experiments.scan.settings import Settings
    from headscope.model import Model
    from headscope.runs import RunResults


def compare(
    base: Model | str | Path,
    tuned: Model | str | Path,
    *data: Corpus | str | Path,
    beside: Model | str | Path | None = None,
    out: str | Path | None = None,
    only: Sequence[str] | None = None,
    settings: Settings | None = None,
    options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Compare two models head by head: the similarity of their maps, and every statistic of a scan.

    Args:
        base, tuned: the model before and after fine-tuning; they must have the same heads and the
            same tokenizer.
        data: corpora, each reported by itself.
        beside: a third model whose statistics are reported alongside (one trained on the same
            task from random weights shows what comes from pre-training).
        out: a run folder, which makes the comparison resumable; None keeps the results in memory.
        only: names of analyses; None means all that the annotation allows.
        settings: how the corpora are read; part of what identifies a run.
        options: of analyses, by name: `{"dependencies": {"possessive": True}}`.

    >>> from headscope import read
    >>> results = compare("minilm", "minilm", read("tour", limit=12), only=["focus"])
    >>> round(changes(results)[0].value, 3)
    1.0
    """
    from headscope.corpus import Corpus, read
    from headscope.experiments.base import run_study
    from headscope.experiments.compare.compute import Comparison
    from headscope.experiments.compare.tables import BASE, BESIDE, TUNED
    from headscope.experiments.scan.settings import Settings
    from headscope.model import Model, load

    sources = {BASE: base, TUNED: tuned} | ({} if beside is None else {BESIDE: beside})
    comparison = Comparison(
        {
            role: source if isinstance(source, Model) else load(source)
            for role, source in sources.items()
        },
        [source if isinstance(source, Corpus) else read(source) for source in data],
        only,
        (settings or Settings()).with_options(options or {}),
    )
    return run_study(comparison, out=out, progress=progress, command=command)


def changes(results: RunResults, corpus: str | None = None) -> list[HeadRow]:
    """The similarity of each head's maps before and after, the most changed head first.

    Args:
        corpus: one of the run's; None: its first.
    """
    from headscope.experiments.compare.tables import similarities

    rows = similarities(results, corpus or results.corpora[0])
    return sorted((row for row in rows if row.head is not None), key=lambda row: row.value)
