"""The command line: each verb parses, calls one public function, prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from headscope import __version__, corpus
from headscope.analyses import about, analyses
from headscope.cli import doctor, experiment_verbs, removal_verbs
from headscope.cli.options import (
    Device,
    Dtype,
    Figures,
    GlueDir,
    Json,
    Limit,
    MaxLength,
    MinCount,
    ModelName,
    Only,
    RandomWeights,
    Seed,
    Weights,
    app,
    finish,
    plainly,
    summary,
    told,
)
from headscope.cli.show import as_data, show, show_heads
from headscope.experiments.ablation import ablate
from headscope.experiments.pruning import prune
from headscope.experiments.relevance import relevance
from headscope.experiments.scan import scan
from headscope.experiments.scan.passes import Options
from headscope.model import Top, load
from headscope.report.figures import write_figures
from headscope.report.page import write_report
from headscope.runs.found import Found

__all__ = ["app", "experiment_verbs", "main", "removal_verbs"]


@app.command("scan")
@plainly
def scan_command(
    model: ModelName = "",
    data: Annotated[
        list[str] | None,
        typer.Argument(help="A path, READER:PATH, glue/TASK, 'tour' or 'tour-pairs'; several."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The run folder; the same one resumes.")
    ] = None,
    only: Only = None,
    list_: Annotated[bool, typer.Option("--list", help="List the analyses and stop.")] = False,
    limit: Limit = None,
    documents: Annotated[
        str | None, typer.Option(help="Only documents whose id matches, such as 'wsj_01*'.")
    ] = None,
    glue_dir: GlueDir = None,
    random_weights: RandomWeights = False,
    max_length: MaxLength = None,
    frequencies: Annotated[
        str, typer.Option(help="Of words: 'corpus', or 'wordfreq:LANGUAGE'.")
    ] = "corpus",
    min_count: MinCount = 100,
    pieces: Annotated[
        str, typer.Option(help="Attention from a split word: 'mean' of its pieces, or 'first'.")
    ] = "mean",
    possessive: Annotated[
        bool, typer.Option("--possessive", help="Before 's, score the 's for poss (Clark's code).")
    ] = False,
    all_words: Annotated[
        bool, typer.Option("--all-words", help="Let punctuation and roots count among all.")
    ] = False,
    clip_offsets: Annotated[
        bool, typer.Option("--clip-offsets", help="A fixed offset outside the text is its edge.")
    ] = False,
    negations: Annotated[
        Path | None, typer.Option(help="A file of negating words, one a line, for this language.")
    ] = None,
    weights: Weights = "attention",
    distance_rows: Annotated[
        int, typer.Option(min=0, help="Rows of a large corpus that heads are compared on; 0: all.")
    ] = 8192,
    gradients: Annotated[
        bool,
        typer.Option("--gradients", help="Follow the masked-LM loss to attention."),
    ] = False,
    figures: Figures = None,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    seed: Seed = 0,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load weights that can run code.")
    ] = False,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="As in transformers.")
    ] = False,
    as_json: Json = False,
) -> None:
    """One pass over corpora, every analysis that they allow, into a run folder with a report."""
    if list_:
        for name, kind in analyses().items():
            print(f"{name}: {about(kind)[0]}")
        return
    if not model or not data or out is None:
        raise typer.BadParameter("scan needs MODEL, DATA and -o RUN")
    watched = load(
        model,
        top=Top.MASKED_LM if gradients else Top.NONE,
        device=device,
        dtype=dtype,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    found = scan(
        watched,
        *(corpus.read(one, limit=limit, documents=documents, glue_dir=glue_dir) for one in data),
        out=out,
        only=only.split(",") if only else None,
        options=Options(
            max_length,
            frequencies,
            random_weights,
            seed,
            corpus.Rules(
                pieces=pieces,
                possessive=possessive,
                all_words=all_words,
                clip=clip_offsets,
                min_count=min_count,
                negations=corpus.word_list(negations) if negations else (),
                distance_rows=distance_rows,
            ),
            weights=weights,
        ),
        gradients=gradients,
        **told(),
    )
    finish(found, out, figures, as_json)


@app.command()
@plainly
def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="The run folder.")] = Path(
        "headscope-demo"
    ),
    as_json: Json = False,
) -> None:
    """Everything, on the bundled model and texts; ends with the report's path."""
    found = scan(
        "minilm",
        "tour",
        "tour-pairs",
        out=out,
        options=Options(random_weights=True, rules=corpus.Rules(min_count=20)),
        **told(),
    )
    off = ablate("minilm", "tour", out=out / "ablation", **told())
    felt = relevance("minilm", "tour", out=out / "relevance", **told())
    smaller = prune("minilm", "tour", keep=0.5, onnx=False, out=out / "pruned", **told())
    runs = [smaller, off, felt, found]
    page = write_report(list(runs), out / "report.html").resolve()
    if as_json:
        print(json.dumps(summary(found, page) | {"effects": off.effects()}, indent=2))
        return
    for one in (found, off, felt, smaller):
        show(one, Console())
    show_heads(found, list(runs), Console())
    print(page)


@app.command("roles")
@plainly
def roles_command(
    runs: Annotated[list[Path], typer.Argument(help="A scan, and other runs of its model.")],
    every: Annotated[
        bool, typer.Option("--all", help="The cards of all heads, not of the striking ones alone.")
    ] = False,
    as_json: Json = False,
) -> None:
    """What each head is, in words, with the evidence; and the model in short."""
    results = [Found.read(run) for run in runs]
    if as_json:
        print(json.dumps(as_data(list(results)), indent=2))
        return
    for one in results:
        show_heads(one, list(results), Console(), every=every)


@app.command()
@plainly
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The page; for one run, report.html in it.")
    ] = None,
    figures: Figures = None,
    csv: Annotated[Path | None, typer.Option(help="Also write all numbers as CSV.")] = None,
) -> None:
    """One offline HTML file for one or more runs."""
    results = [Found.read(run) for run in runs]
    if out is None and len(runs) > 1:
        raise typer.BadParameter("for several runs, say where to write the page: -o FILE")
    if csv is not None and len(runs) > 1:
        raise typer.BadParameter("--csv writes the numbers of one run")
    page = write_report(list(results), out or runs[0] / "report.html")
    if figures is not None:
        print(f"{len(write_figures(list(results), figures))} figures in {figures}")
    if csv is not None:
        print(results[0].csv(csv))
    print(page.resolve())


@app.command("doctor")
@plainly
def doctor_command(as_json: Json = False) -> None:
    """What is installed, which models and data are at hand."""
    found = doctor.examine()
    if as_json:
        print(json.dumps(found, indent=2))
        return
    table = Table(box=None, show_header=False)
    for name, value in found.items():
        table.add_row(name, value if isinstance(value, str) else ", ".join(value))
    Console().print(table)


@app.command()
def version() -> None:
    """The version of headscope."""
    print(__version__)


def main() -> None:
    """Run the command line."""
    app()
