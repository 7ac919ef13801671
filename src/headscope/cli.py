"""The command line: each verb parses, calls one public function, prints."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn, ParamSpec

import typer
from rich.console import Console
from rich.table import Table

from headscope import __version__, corpus, doctor
from headscope.ablate import ablate
from headscope.analyses import about, analyses
from headscope.compare import compare
from headscope.errors import HeadscopeError
from headscope.evidence.sequential import Decider
from headscope.experiments.finetuning import Recipe, Start
from headscope.finetune import COLUMNS, cells, finetune, table
from headscope.found import Found
from headscope.interrupt import interruptible
from headscope.model import load
from headscope.passes import Options
from headscope.progress import progress_for_terminal
from headscope.report import write_report
from headscope.report.figures import write_figures
from headscope.study import scan
from headscope.tasks import task
from headscope.terminal import show

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
            _fail(str(error), 1)
        except KeyboardInterrupt:
            _fail("interrupted; the same command goes on where it stopped", 130)
        except MemoryError:
            _fail("not enough memory; try a smaller --max-length", 1)

    return run


def _fail(message: str, code: int) -> NoReturn:
    print(f"headscope: {message}", file=sys.stderr)
    raise typer.Exit(code)


Device = Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, mps.")]
Dtype = Annotated[str, typer.Option(help="float32, bfloat16 or float16.")]
Seed = Annotated[int, typer.Option(help="For whatever is drawn at random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
MaxLength = Annotated[
    int | None,
    typer.Option(help="Cut texts to so many pieces; unset, a text beyond the limit is an error."),
]
RandomWeights = Annotated[
    bool, typer.Option("--random-weights", help="Add the same architecture, untrained.")
]
Figures = Annotated[
    Path | None, typer.Option(help="Also write every chart as PNG and SVG into this folder.")
]


@app.command("scan")
@plainly
def scan_command(
    model: Annotated[str, typer.Argument(help="A hub id, a folder, or 'minilm'.")] = "",
    data: Annotated[
        list[str] | None,
        typer.Argument(help="A path, READER:PATH, 'tour' or 'tour-pairs'; several."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The run folder; the same one resumes.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Names of analyses, with commas.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the analyses and stop.")] = False,
    limit: Annotated[int | None, typer.Option(help="Only the first so many texts.")] = None,
    documents: Annotated[
        str | None, typer.Option(help="Only documents whose id matches, such as 'wsj_01*'.")
    ] = None,
    random_weights: RandomWeights = False,
    max_length: MaxLength = None,
    frequencies: Annotated[
        str, typer.Option(help="Of words: 'corpus', or 'wordfreq:LANGUAGE'.")
    ] = "corpus",
    min_count: Annotated[
        int, typer.Option(min=1, help="Leave out relations with fewer instances.")
    ] = 100,
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
        device=device,
        dtype=dtype,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    found = scan(
        watched,
        *(corpus.read(one, limit=limit, documents=documents) for one in data),
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
            ),
        ),
        progress=progress_for_terminal(),
        command=["headscope", *sys.argv[1:]],
    )
    _finish(found, out, figures, as_json)


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
ModelName = Annotated[str, typer.Argument(help="A hub id, a folder, or 'minilm'.")]


@app.command("compare")
@plainly
def compare_command(
    base: ModelName,
    tuned: Annotated[str, typer.Argument(help="The model that was made from it.")],
    data: Annotated[list[str], typer.Argument(help="A path, READER:PATH, glue/TASK, 'tour'.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The run folder; the same resumes.")],
    beside: Annotated[
        str | None, typer.Option(help="A third model whose statistics stand beside.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Names of analyses, with commas.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many texts.")] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Leave out relations with fewer instances.")
    ] = 100,
    glue_dir: GlueDir = None,
    max_length: MaxLength = None,
    figures: Figures = None,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """What fine-tuning changed: two models on the same texts, head by head."""
    named = [one for one in (base, tuned, beside) if one is not None]
    first, second, *third = (load(one, device=device, dtype=dtype) for one in named)
    found = compare(
        first,
        second,
        *(corpus.read(one, limit=limit, glue_dir=glue_dir) for one in data),
        beside=third[0] if third else None,
        out=out,
        only=only.split(",") if only else None,
        options=Options(max_length, seed=seed, rules=corpus.Rules(min_count=min_count)),
        progress=progress_for_terminal(),
        command=["headscope", *sys.argv[1:]],
    )
    _finish(found, out, figures, as_json)


@app.command("ablate")
@plainly
def ablate_command(
    model: ModelName,
    task_name: TaskName,
    out: Annotated[Path, typer.Option("-o", "--out", help="The run folder; the same resumes.")],
    heads: Annotated[
        list[str] | None,
        typer.Option(help="Switch off these together, 'L3.H4,L5', and nothing else; repeatable."),
    ] = None,
    how: Annotated[str, typer.Option(help="What a head gives: uniform, zero or mean.")] = "uniform",
    budget: Annotated[
        bool, typer.Option("--budget", help="Stop trying a head whose verdict is decided.")
    ] = False,
    margin: Annotated[
        float, typer.Option(help="With --budget: an effect so small is nothing.")
    ] = 0.01,
    error: Annotated[
        float, typer.Option(help="With --budget: how often a head's verdict may be wrong.")
    ] = 0.05,
    part: Annotated[str, typer.Option(help="The part of the task to try it on.")] = "dev",
    glue_dir: GlueDir = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many examples.")] = None,
    max_length: MaxLength = None,
    figures: Figures = None,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Every head off, every layer off, one at a time: what a task loses or gains by it."""
    wanted = task(task_name, part=part, glue_dir=glue_dir, limit=limit, seed=seed)
    found = ablate(
        load(model, head=wanted.head, device=device, dtype=dtype),
        wanted,
        out=out,
        heads=heads,
        how=how,
        budget=Decider(margin, error) if budget else None,
        max_length=max_length,
        seed=seed,
        progress=progress_for_terminal(),
        command=["headscope", *sys.argv[1:]],
    )
    _finish(found, out, figures, as_json)


@app.command("finetune")
@plainly
def finetune_command(
    model: ModelName,
    tasks: Annotated[list[str], typer.Argument(help="glue/NAME, classify:FILE, imdb:FOLDER.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The model's folder; resumes.")],
    random_init: Annotated[
        bool, typer.Option("--random-init", help="Start from random weights.")
    ] = False,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Train only what is on top of the encoder.")
    ] = False,
    whole_table: Annotated[
        bool, typer.Option("--table", help="All starts, each in a folder of its own under OUT.")
    ] = False,
    seeds: Annotated[str, typer.Option(help="With --table: seeds, with commas.")] = "0",
    epochs: Annotated[float, typer.Option(min=0.01)] = 3,
    batch: Annotated[int, typer.Option(min=1, help="Examples in a batch.")] = 32,
    rate: Annotated[float | None, typer.Option(help="Of learning; 2e-5, frozen 1e-3.")] = None,
    length: Annotated[int, typer.Option(help="Cut texts to so many pieces.")] = 128,
    train: Annotated[str, typer.Option(help="The part to learn from.")] = "train",
    dev: Annotated[str, typer.Option(help="The part to test on; a file for classify.")] = "dev",
    glue_dir: GlueDir = None,
    limit: Annotated[int | None, typer.Option(help="Learn from the first so many only.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fine-tune on a task, or on several from every start (Kovaleva's table)."""
    start = Start.RANDOM if random_init else Start.FROZEN if frozen else Start.PRETRAINED
    recipe = Recipe(start, epochs, batch, rate, length, seed)
    options: dict[str, Any] = {"glue_dir": glue_dir, "train": train, "dev": dev, "limit": limit}
    if len(tasks) > 1 and not whole_table:
        raise typer.BadParameter("several tasks need --table: a folder for each")
    if whole_table:
        numbers = [int(one) for one in seeds.split(",")]
        rows = table(model, tasks, out, recipe=recipe, seeds=numbers, **options)
    else:
        record = finetune(model, tasks[0], out, recipe=recipe, **options)
        rows = [{"task": tasks[0], "start": str(start)} | row for row in record["trained"]]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    lines = Table(title=f"{model}: metrics on the development part, per cent")
    made = cells(rows)
    filled = [place for place in range(len(COLUMNS)) if any(line[place] != "-" for line in made)]
    for place in filled:
        lines.add_column(COLUMNS[place])
    for line in made:
        lines.add_row(*(line[place] for place in filled))
    Console().print(lines)
    print(out.resolve())


@app.command()
@plainly
def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="The run folder.")] = Path(
        "headscope-demo"
    ),
    as_json: Json = False,
) -> None:
    """Everything, on the bundled model and texts; ends with the report's path."""
    command = ["headscope", *sys.argv[1:]]
    found = scan(
        "minilm",
        "tour",
        "tour-pairs",
        out=out,
        options=Options(random_weights=True, rules=corpus.Rules(min_count=20)),
        progress=progress_for_terminal(),
        command=command,
    )
    off = ablate(
        "minilm", "tour", out=out / "ablation", progress=progress_for_terminal(), command=command
    )
    page = write_report([off, found], out / "report.html").resolve()
    if as_json:
        print(json.dumps(_summary(found, page) | {"effects": off.effects()}, indent=2))
        return
    for one in (found, off):
        show(one, Console())
    print(page)


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


def _finish(found: Found, out: Path, figures: Path | None, as_json: bool) -> None:
    """Print what was found, and where the report is."""
    page = (out / "report.html").resolve()
    if not page.exists():
        found.report(page)
    if figures is not None:
        found.figures(figures)
    if as_json:
        print(json.dumps(_summary(found, page), indent=2))
        return
    show(found, Console())
    print(page)


def _summary(found: Found, page: Path) -> dict[str, Any]:
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


def main() -> None:
    """Run the command line."""
    app()
