"""Options that several verbs share, each declared once."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from headscope._util.shares import parse_share

LARGEST_SEED = 2**32 - 1
"""The largest that numpy takes."""
Item = TypeVar("Item")


def finite(value: float | None) -> float | None:
    """Refuse what is not a number (a callback of options)."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


def finite_number(text: str) -> float:
    """A number from its text; a ValueError for one that is not finite.

    >>> finite_number("2e-5")
    2e-05
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def comma_list(text: str, kind: Callable[[str], Item], what: str) -> list[Item]:
    """The items of a list that is written with commas.

    Args:
        kind: what turns the text of an item into an item, such as `int`.
        what: the items in words, for the message about a list that cannot be read.

    >>> comma_list("0, 1,2", int, "whole numbers")
    [0, 1, 2]
    """
    try:
        return [kind(item.strip()) for item in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a list of {what} with commas.") from None


def share(text: str) -> float:
    """A share, written `0.5%` or `0.005`.

    >>> share("0.5%"), share("0.6")
    (0.005, 0.6)
    """
    try:
        return parse_share(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a share such as 0.5% or 0.005.") from None


def analysis_names(text: str | None) -> list[str] | None:
    """The value of `--only`: names with commas; None: all analyses.

    >>> analysis_names("focus, patterns")
    ['focus', 'patterns']
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("name at least one analysis (see headscope scan --list).")
    return names


def language_pair(text: str | None) -> tuple[str, str] | None:
    """Two codes of languages, such as `deu_Latn,eng_Latn`.

    >>> language_pair("de,en")
    ('de', 'en')
    """
    if text is None:
        return None
    codes = [code.strip() for code in text.split(",")]
    if len(codes) != 2 or not all(codes):
        raise typer.BadParameter(f"--languages: {text!r} is not two codes, as in de_DE,en_XX")
    return codes[0], codes[1]


ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="A hub id, a folder, or 'minilm'.")]
DataNames = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA", help="Corpora: a path, READER:PATH, glue/TASK, 'tour' or 'tour-pairs'."
    ),
]
TaskName = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="glue/NAME, similarity:FILE, classify:FILE, imdb:FOLDER, masked-lm:DATA, "
        "causal-lm:DATA, or 'tour'.",
    ),
]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders.")]
Out = Annotated[
    Path, typer.Option("-o", "--out", help="Run folder; an interrupted run is resumed.")
]
Only = Annotated[
    str | None, typer.Option(help="Names of analyses, with commas.", show_default="all")
]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Use only the first N texts or examples.", metavar="N")
]
GlueDir = Annotated[
    Path | None, typer.Option(help="Folder with GLUE's TSV files.", show_default="the hub")
]
Part = Annotated[str, typer.Option(help="Part of the task's data to evaluate on.")]
MaxLength = Annotated[
    int | None,
    typer.Option(
        help="Truncate texts to this many tokens; if unset, a text beyond the model's limit is an "
        "error."
    ),
]
MinCount = Annotated[int, typer.Option(min=1, help="Leave out relations with fewer instances.")]
Device = Annotated[str, typer.Option(help="Device to run the model on: cpu, cuda or mps.")]
LanguagePair = Annotated[
    str | None,
    typer.Option(
        "--languages",
        metavar="SOURCE,TARGET",
        help="The languages of a model that translates between many, as its tokenizer codes them.",
    ),
]
Dtype = Annotated[str, typer.Option(help="Precision of the weights: float32, bfloat16 or float16.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Random seed.")]
Figures = Annotated[
    Path | None, typer.Option(help="Also write every chart as PNG and SVG into this folder.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Print every table, not only the most telling lines.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Choose = Annotated[
    str | None,
    typer.Option(
        help="Another task, or another part of GLUE, to choose heads by.",
        show_default="GLUE's train part, or half of the documents",
    ),
]
ChooseLimit = Annotated[
    int | None,
    typer.Option(min=1, help="Use only the first N examples of --choose.", metavar="N"),
]
