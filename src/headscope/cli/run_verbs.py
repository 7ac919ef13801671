"""The verbs that belong to no experiment: reading runs, and asking about the program itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import print_version, verb


@verb(
    "roles",
    group="Start",
    order=40,
    examples=("roles RUN", "roles RUN ablation-run relevance-run --all", "roles RUN --json"),
)
def roles_verb(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="A scan, and other runs of its model.")
    ],
    every: Annotated[
        bool, typer.Option("--all", help="Describe every head, not only the most specialised.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Describe in words what each head does, with the evidence."""
    from headscope.cli.show import Screen, role_data
    from headscope.runs import RunResults

    results = [RunResults.read(run) for run in runs]
    if as_json:
        print(json.dumps(role_data(results), indent=2))
        return
    screen = Screen()
    for run in results:
        screen.heads(run, results, every=every)


@verb(
    "report",
    group="Start",
    order=50,
    examples=("report RUN", "report scan-run ablation-run -o page.html --figures figures"),
)
def report_verb(
    runs: options.Runs,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="HTML file to write.",
            show_default="report.html in the run folder",
        ),
    ] = None,
    figures: options.Figures = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(help="Only figures with this in their name; may be repeated."),
    ] = None,
    figure_format: Annotated[
        str, typer.Option(help="Formats of figures, with commas: png, svg, pdf.")
    ] = "png,svg",
    tables: Annotated[
        Path | None,
        typer.Option(help="Also write every table of the page as CSV and LaTeX into this folder."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Also write all numbers of a run as CSV.")
    ] = None,
) -> None:
    """Write one offline HTML page for one or more runs."""
    from headscope.cli.show import Screen
    from headscope.report.figures import write_figures
    from headscope.report.page import write_report
    from headscope.report.tables import write_tables
    from headscope.runs import RunResults

    if out is None and len(runs) > 1:
        raise typer.BadParameter("for several runs, say where to write the page: -o FILE.")
    if csv is not None and len(runs) > 1:
        raise typer.BadParameter("--csv writes the numbers of one run; name a single run folder.")
    results = [RunResults.read(run) for run in runs]
    page = write_report(results, out or runs[0] / "report.html")
    screen = Screen()
    if figures is not None:
        formats = options.comma_list(figure_format, str, "formats")
        drawn = write_figures(results, figures, figure or (), formats)
        screen.line(f"{len(drawn)} figures in {figures}")
    if tables is not None:
        screen.line(f"{len(write_tables(results, tables))} files in {tables}")
    if csv is not None:
        screen.path(results[0].csv(csv))
    screen.path(page.resolve())


@verb("doctor", group="Help", order=910, examples=("doctor", "doctor --json"))
def doctor_verb(as_json: options.Json = False) -> None:
    """Show what is installed, which models and data are at hand, and which plug-ins loaded."""
    from headscope.cli.doctor import examine
    from headscope.cli.show import Screen

    findings = examine()
    if as_json:
        print(json.dumps(findings, indent=2))
        return
    screen = Screen()
    for name, value in findings.items():
        screen.line(f"{name}: {value if isinstance(value, str) else ', '.join(value)}")


@verb("version", group="Help", order=920, examples=("version",))
def version_verb() -> None:
    """Print the version."""
    print_version()
