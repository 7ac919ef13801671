"""The verb `reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb
from headscope.cli.run import run_context, show_result


@verb(
    "reproduce",
    group="Papers",
    order=400,
    examples=(
        "reproduce clark2019 table1 -o run",
        "reproduce clark2019 --model minilm --data corpora -o run",
        "reproduce kovaleva2019 figure2 --model minilm --input glue=GLUE --limit 500 -o trial",
    ),
)
def reproduce_verb(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="clark2019, kovaleva2019, voita2019, michel2019 or kobayashi2020.",
        ),
    ],
    out: options.Out,
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE",
            help="Parts of it, such as table1 or figure2.",
            show_default="the whole paper",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="A hub id, a folder, or 'minilm'.", show_default="that of the paper"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder in which inputs are looked for.", show_default="what HEADSCOPE_DATA names"
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="NAME=DATA", help="Data for an input of the paper; may be repeated."
        ),
    ] = None,
    limit: options.Limit = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Also write the tables as a page of Markdown.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(help="A finished reproduction that this page also shows; may be repeated."),
    ] = None,
    figures: options.Figures = None,
    device: options.Device = "cpu",
    dtype: options.Dtype = "float32",
    verbose: options.Verbose = False,
    as_json: options.Json = False,
) -> None:
    """Compute the numbers that a paper printed again, and set them side by side."""
    inputs = dict(_named(text) for text in given or ())

    from headscope._util.atomic import write_text
    from headscope.experiments.reproduce import reproduce
    from headscope.experiments.reproduce.page import markdown_page
    from headscope.experiments.reproduce.paper import load_paper
    from headscope.model import load
    from headscope.runs import RunResults

    published = load_paper(paper)
    published.select(tables or ())
    others = [RunResults.read(folder) for folder in beside or ()]
    results = reproduce(
        paper,
        *(tables or ()),
        model=load(model or published.model, device=device, dtype=dtype),
        data=data,
        inputs=inputs,
        limit=limit,
        out=out,
        **run_context(),
    )
    if markdown is not None:
        write_text(markdown, markdown_page([results, *others]))
    show_result(results, out, figures, as_json, verbose or bool(tables))


def _named(text: str) -> tuple[str, str]:
    """A name and what it stands for.

    >>> _named("treebank=a.conllu")
    ('treebank', 'a.conllu')
    """
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise typer.BadParameter(f"--input: {text!r} is not NAME=DATA")
    return name, value
