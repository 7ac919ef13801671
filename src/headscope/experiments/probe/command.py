"""The verb `probe`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.app import verb
from headscope.cli.run import run_context, show_result

GIB = 1 << 30


@verb(
    "probe",
    group="Probe",
    order=310,
    examples=(
        "probe bert-base-uncased train.conllu --test test.conllu -o run",
        "probe minilm tour --train-documents 'tour_b*' --test-documents 'tour_c*' -o run",
    ),
)
def probe_verb(
    model: options.ModelName,
    train: Annotated[str, typer.Argument(metavar="TRAIN", help="Treebank to train on.")],
    out: options.Out,
    test: Annotated[
        str | None,
        typer.Option(
            help="Treebank to test on; required unless --train-documents and --test-documents "
            "split TRAIN."
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Treebank for early stopping.", show_default="a tenth of TRAIN's documents"
        ),
    ] = None,
    train_documents: Annotated[
        str | None,
        typer.Option(
            help="Train only on documents whose id matches, such as 'wsj_00*,wsj_01[0-5]*'."
        ),
    ] = None,
    test_documents: Annotated[
        str | None,
        typer.Option(help="Test only on documents of --test (or of TRAIN) whose id matches."),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Word vectors: GloVe's text format or npz.",
            show_default="the model's input embeddings",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of trainings of each probe, each with its own seed.")
    ] = 3,
    labels: Annotated[
        bool, typer.Option("--labels", help="Also predict relations, for the LAS.")
    ] = False,
    cache: Annotated[
        float,
        typer.Option(
            min=0,
            callback=options.finite,
            help="Disk space for the attention of each part, in GiB.",
        ),
    ] = 4.0,
    limit: options.Limit = None,
    max_length: options.MaxLength = None,
    figures: options.Figures = None,
    device: options.Device = "cpu",
    dtype: options.Dtype = "float32",
    seed: options.Seed = 0,
    verbose: options.Verbose = False,
    as_json: options.Json = False,
) -> None:
    """Train parsers on attention alone, and on attention with word vectors, beside baselines."""
    if test is None and (train_documents is None or test_documents is None):
        raise typer.BadParameter(
            "say what to test on: --test FILE, or --train-documents and --test-documents to split "
            "TRAIN."
        )

    from headscope.corpus import read
    from headscope.experiments.probe import probe
    from headscope.model import load

    results = probe(
        load(model, device=device, dtype=dtype),
        read(train, limit=limit, documents=train_documents),
        read(test or train, documents=test_documents),
        dev=None if dev is None else read(dev),
        vectors=vectors,
        out=out,
        seeds=seeds,
        labels=labels,
        max_length=max_length,
        seed=seed,
        cache=round(cache * GIB),
        **run_context(),
    )
    show_result(results, out, figures, as_json, verbose)
