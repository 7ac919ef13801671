"""What the verbs of the command line share: how they fail, their options, how they end."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn, ParamSpec

import typer
from rich.console import Console

from headscope._util.interrupt import interruptible
from headscope._util.progress import progress_for_terminal
from headscope.cli.show import show
from headscope.errors import HeadscopeError
from headscope.runs.found import Found

app = typer.Typer(
    help="What the attention heads of a transformer do, with evidence on every number.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

P = ParamSpec("P")


def plainly(command: Callable[P, None]) -> Callable[P, None]:
    """Whatever a user can mend is told in one sentence, with a non-zero exit."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            with interruptible():
                command(*arguments, **options)
        except HeadscopeError as error:
            fail(str(error), 1)
        except KeyboardInterrupt:
            fail("interrupted; the same command goes on where it stopped", 130)
        except MemoryError:
            fail("not enough memory; try a smaller --max-length", 1)

    return run


def fail(message: str, code: int) -> NoReturn:
    """Say what is wrong and stop."""
    print(f"headscope: {message}", file=sys.stderr)
    raise typer.Exit(code)


Device = Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, mps.")]
Dtype = Annotated[str, typer.Option(help="float32, bfloat16 or float16.")]
Part = Annotated[str, typer.Option(help="The part of the task to try it on.")]
Seed = Annotated[int, typer.Option(help="For whatever is drawn at random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
MaxLength = Annotated[
    int | None,
    typer.Option(help="Cut texts to so many pieces; unset, a text beyond the limit is an error."),
]
RandomWeights = Annotated[
    bool, typer.Option("--random-weights", help="Add the same architecture, untrained.")
]
Weights = Annotated[
    str, typer.Option(help="What is analysed: 'attention', or 'norm': weighted by value norms.")
]
Figures = Annotated[
    Path | None, typer.Option(help="Also write every chart as PNG and SVG into this folder.")
]


TaskName = Annotated[
    str,
    typer.Argument(
        help="glue/mrpc and its sisters, similarity:FILE, classify:FILE, imdb:FOLDER, "
        "masked-lm:DATA, or 'tour'."
    ),
]
GlueDir = Annotated[
    Path | None, typer.Option(help="The folder with GLUE's TSV files; unset, the hub is asked.")
]
Out = Annotated[Path, typer.Option("-o", "--out", help="The run folder; the same one resumes.")]
Only = Annotated[str | None, typer.Option(help="Names of analyses, with commas.")]
Limit = Annotated[int | None, typer.Option(help="Only the first so many texts or examples.")]
MinCount = Annotated[int, typer.Option(min=1, help="Leave out relations with fewer instances.")]
ModelName = Annotated[str, typer.Argument(help="A hub id, a folder, or 'minilm'.")]


def told() -> dict[str, Any]:
    """What every verb that makes a run hands over: who is shown how far it is, and the command."""
    return {"progress": progress_for_terminal(), "command": ["headscope", *sys.argv[1:]]}


def finish(found: Found, out: Path, figures: Path | None, as_json: bool) -> None:
    """Print what was found, and where the report is."""
    page = (out / "report.html").resolve()
    if not page.exists():
        found.report(page)
    if figures is not None:
        found.figures(figures)
    if as_json:
        print(json.dumps(summary(found, page), indent=2))
        return
    show(found, Console())
    print(page)


def summary(found: Found, page: Path) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "report": str(page),
        "model": found.record["study"]["model"],
        "best": {
            name: [{"best head for": line.text} | line.row for line in lines]
            for name, lines in found.lines()
        },
        "relations": {
            name: {
                one.name: {way: best.accuracy for way, best in one.ways.items()}
                for one in found.relations(name)
            }
            for name in found.corpora
        },
        "left_out": found.record["left_out"],
        "intact": found.record.get("intact", []),
        "effects": found.effects() if found.ablation.num_rows else [],
    }
