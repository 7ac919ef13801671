"""The verbs of experiments: finetune, compare, ablate, importance, relevance, probe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from headscope import corpus
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
    Out,
    Part,
    Seed,
    TaskName,
    app,
    finish,
    plainly,
    told,
)
from headscope.evidence.sequential import Decider
from headscope.experiments.ablation import ablate
from headscope.experiments.compare import compare
from headscope.experiments.finetuning import COLUMNS, cells, finetune, table
from headscope.experiments.finetuning.compute import Recipe, Start
from headscope.experiments.importance import importance
from headscope.experiments.probe import probe
from headscope.experiments.relevance import relevance
from headscope.experiments.scan.passes import Options
from headscope.model import EPSILON, load
from headscope.tasks import task


@app.command("compare")
@plainly
def compare_command(
    base: ModelName,
    tuned: Annotated[str, typer.Argument(help="The model that was made from it.")],
    data: Annotated[list[str], typer.Argument(help="A path, READER:PATH, glue/TASK, 'tour'.")],
    out: Out,
    beside: Annotated[
        str | None, typer.Option(help="A third model whose statistics stand beside.")
    ] = None,
    only: Only = None,
    limit: Limit = None,
    min_count: MinCount = 100,
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
        **told(),
    )
    finish(found, out, figures, as_json)


@app.command("ablate")
@plainly
def ablate_command(
    model: ModelName,
    task_name: TaskName,
    out: Out,
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
    part: Part = "dev",
    glue_dir: GlueDir = None,
    limit: Limit = None,
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
        load(model, top=wanted.top, device=device, dtype=dtype),
        wanted,
        out=out,
        heads=heads,
        how=how,
        budget=Decider(margin, error) if budget else None,
        max_length=max_length,
        seed=seed,
        **told(),
    )
    finish(found, out, figures, as_json)


@app.command("importance")
@plainly
def importance_command(
    model: ModelName,
    task_name: TaskName,
    out: Out,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Rank heads after dividing by their layer's length.")
    ] = False,
    gradients: Annotated[
        bool, typer.Option(help="Follow the loss to the weights of attention as well.")
    ] = True,
    part: Part = "dev",
    glue_dir: GlueDir = None,
    limit: Limit = None,
    max_length: MaxLength = None,
    figures: Figures = None,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """How much a task's loss feels each head, and attention to tokens of each role."""
    wanted = task(task_name, part=part, glue_dir=glue_dir, limit=limit, seed=seed)
    found = importance(
        load(model, top=wanted.top, device=device, dtype=dtype),
        wanted,
        out=out,
        normalise=normalise,
        gradients=gradients,
        max_length=max_length,
        seed=seed,
        **told(),
    )
    finish(found, out, figures, as_json)


@app.command("relevance")
@plainly
def relevance_command(
    model: ModelName,
    task_name: TaskName,
    out: Out,
    epsilon: Annotated[
        float, typer.Option(min=0, help="The stabiliser of the rule for linear maps.")
    ] = EPSILON,
    part: Part = "dev",
    glue_dir: GlueDir = None,
    limit: Limit = None,
    max_length: MaxLength = None,
    figures: Figures = None,
    device: Device = "cpu",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """How much of what a model says comes through each head; do other numbers tell the same?"""
    wanted = task(task_name, part=part, glue_dir=glue_dir, limit=limit, seed=seed)
    found = relevance(
        load(model, top=wanted.top, device=device),
        wanted,
        out=out,
        epsilon=epsilon,
        max_length=max_length,
        seed=seed,
        **told(),
    )
    finish(found, out, figures, as_json)


@app.command("probe")
@plainly
def probe_command(
    model: ModelName,
    train: Annotated[str, typer.Argument(help="A treebank to learn from.")],
    out: Out,
    test: Annotated[
        str | None, typer.Option(help="A treebank to test on; unset: other documents of TRAIN.")
    ] = None,
    dev: Annotated[
        str | None, typer.Option(help="A treebank to stop by; unset: a tenth of TRAIN.")
    ] = None,
    train_documents: Annotated[
        str | None, typer.Option(help="Only documents like these, such as 'wsj_00*,wsj_01[0-5]*'.")
    ] = None,
    test_documents: Annotated[
        str | None, typer.Option(help="Of TRAIN or --test: only documents like these.")
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(help="Word vectors, GloVe's text or npz; unset: the model's embeddings."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How often each probe is trained.")] = 3,
    labels: Annotated[bool, typer.Option("--labels", help="Relations too, for LAS.")] = False,
    cache: Annotated[
        float, typer.Option(min=0, help="GiB that attention may take on disk for each part.")
    ] = 4.0,
    limit: Limit = None,
    max_length: MaxLength = None,
    figures: Figures = None,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Parsers made of attention, and of attention and words, beside their baselines."""
    if test is None and test_documents is None:
        raise typer.BadParameter("say what to test on: --test FILE or --test-documents")
    if test is None and train_documents is None:
        raise typer.BadParameter("of one treebank, say --train-documents and --test-documents")
    found = probe(
        load(model, device=device, dtype=dtype),
        corpus.read(train, limit=limit, documents=train_documents),
        corpus.read(test or train, documents=test_documents),
        dev=None if dev is None else corpus.read(dev),
        vectors=vectors,
        out=out,
        seeds=seeds,
        labels=labels,
        max_length=max_length,
        seed=seed,
        cache=round(cache * (1 << 30)),
        **told(),
    )
    finish(found, out, figures, as_json)


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
    rate: Annotated[float, typer.Option(help="Of learning.")] = 2e-5,
    head_rate: Annotated[float, typer.Option(help="Of learning, with a frozen encoder.")] = 1e-3,
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
    recipe = Recipe(start, epochs, batch, rate, head_rate, length, seed)
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
