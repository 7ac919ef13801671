"""The verb `compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.analysis_options import AnalysisOptions
from headscope.cli.app import verb
from headscope.cli.run import run_context, show_result
from headscope.experiments.scan.command import CorpusOptions


@verb(
    "compare",
    group="Compare and train",
    order=110,
    examples=(
        "compare bert-base-uncased tuned/mrpc glue/mrpc -o run",
        "compare minilm my-folder tour -o run --only focus,patterns",
    ),
)
def compare_verb(
    base: Annotated[
        str,
        typer.Argument(metavar="BASE", help="The model before fine-tuning: a hub id or a folder."),
    ],
    tuned: Annotated[str, typer.Argument(metavar="TUNED", help="The fine-tuned model.")],
    data: options.DataNames,
    out: options.Out,
    corpora: CorpusOptions,
    analyses: AnalysisOptions,
    beside: Annotated[
        str | None,
        typer.Option(help="A third model, whose statistics are reported for comparison."),
    ] = None,
) -> None:
    """Compare two models head by head on the same texts: what did fine-tuning change?"""
    only = options.analysis_names(corpora.only)

    from headscope.experiments.compare import compare
    from headscope.model import load

    settings = corpora.settings(options=analyses.of(only))
    names = [name for name in (base, tuned, beside) if name is not None]
    first, second, *third = [
        load(name, device=corpora.device, dtype=corpora.dtype) for name in names
    ]
    results = compare(
        first,
        second,
        *corpora.read(data),
        beside=third[0] if third else None,
        out=out,
        only=only,
        settings=settings,
        **run_context(),
    )
    show_result(results, out, corpora.figures, corpora.as_json, corpora.verbose)
