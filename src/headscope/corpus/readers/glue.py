"""GLUE: its tasks in its own TSV layout, or as the hub's Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError

REPOSITORY = "nyu-mll/glue"
"""The data set on the hub."""


@dataclass(frozen=True)
class Layout:
    """Where a task of GLUE keeps what.

    Attributes:
        folder: its name in GLUE's own layout.
        columns: text, second text, label as the TSV's header names them.
        hub_columns: the same in the hub's files.
        classes: labels in the order of their numbers; empty for graded scores.
        header: whether the TSV has one; where not, columns are positions.
        dev, hub_dev: file of the development part, here and on the hub.
    """

    folder: str
    columns: tuple[str, str | None, str]
    hub_columns: tuple[str, str | None]
    classes: tuple[str, ...]
    header: bool = True
    dev: str = "dev"
    hub_dev: str = "validation"


MNLI = Layout(
    "MNLI", ("sentence1", "sentence2", "gold_label"), ("premise", "hypothesis"),
    ("entailment", "neutral", "contradiction"),
    dev="dev_matched", hub_dev="validation_matched",
)  # fmt: skip
SENTENCES = ("sentence1", "sentence2")
ENTAILED = ("entailment", "not_entailment")
LAYOUTS = {
    "mrpc": Layout("MRPC", ("#1 String", "#2 String", "Quality"), SENTENCES, ("0", "1")),
    "sts-b": Layout("STS-B", (*SENTENCES, "score"), SENTENCES, ()),
    "sst-2": Layout("SST-2", ("sentence", None, "label"), ("sentence", None), ("0", "1")),
    "qqp": Layout(
        "QQP", ("question1", "question2", "is_duplicate"), ("question1", "question2"), ("0", "1")
    ),
    "rte": Layout("RTE", (*SENTENCES, "label"), SENTENCES, ENTAILED),
    "qnli": Layout("QNLI", ("question", "sentence", "label"), ("question", "sentence"), ENTAILED),
    "mnli": MNLI,
    "mnli-mm": replace(MNLI, dev="dev_mismatched", hub_dev="validation_mismatched"),
    "cola": Layout("CoLA", ("3", None, "1"), ("sentence", None), ("0", "1"), header=False),
    "wnli": Layout("WNLI", (*SENTENCES, "label"), SENTENCES, ("0", "1")),
}


def glue_file(task: str, part: str, folder: Path | None) -> Path:
    """The file of a part (`train`, `dev`, or a file's name) in GLUE's layout, or from the hub."""
    layout = LAYOUTS[task]
    if folder is None:
        return _from_hub(task, layout.hub_dev if part == "dev" else part)
    name = layout.dev if part == "dev" else part
    for ending in (".tsv", ".tsv.gz"):
        path = folder / layout.folder / f"{name}{ending}"
        if path.exists():
            return path
    there = sorted(one.name for one in (folder / layout.folder).glob("*.tsv*"))
    found = f"there: {', '.join(there)}" if there else f"no folder {layout.folder} with TSV files"
    raise InputError(f"no {name}.tsv of glue/{task} ({found})", folder)


def _from_hub(task: str, part: str) -> Path:
    from huggingface_hub import hf_hub_download

    config = {"sts-b": "stsb", "sst-2": "sst2", "mnli-mm": "mnli"}.get(task, task)
    name = f"{config}/{part}-00000-of-00001.parquet"
    try:
        return Path(hf_hub_download(REPOSITORY, name, repo_type="dataset"))
    except Exception as error:  # what the hub's client raises is its transport's affair
        raise InputError(
            f"glue/{task} could not be had from the hub ({type(error).__name__}); give the folder "
            "with GLUE's TSV files: --glue-dir"
        ) from None


def read_glue(layout: Layout, path: Path) -> Iterator[Example]:
    """A task of GLUE: its texts, and its label in words or as a score."""
    rows = _parquet(layout, path) if path.suffix == ".parquet" else _tsv(layout, path)
    for number, text, pair, label in rows:
        if layout.classes and label not in layout.classes:
            raise InputError(f"label {label!r} is not one of {layout.classes}", path, number)
        yield Example(str(number), text=text, pair=pair, label=label)


Row = tuple[int, str, str | None, str]


def _tsv(layout: Layout, path: Path) -> Iterator[Row]:
    rows = ((number, line.split("\t")) for number, line in lines(path) if line.strip())
    header = next(rows, (0, []))[1] if layout.header else [str(place) for place in range(4)]
    try:
        text, label = (header.index(name) for name in (layout.columns[0], layout.columns[2]))
        pair = None if layout.columns[1] is None else header.index(layout.columns[1])
    except ValueError:
        wanted = ", ".join(name for name in layout.columns if name)
        raise InputError(f"its header lacks one of {wanted}", path, 1) from None
    for number, row in rows:
        if len(row) != len(header):
            raise InputError(f"{len(row)} columns instead of {len(header)}", path, number)
        yield number, row[text].strip(), None if pair is None else row[pair].strip(), row[label]


def _parquet(layout: Layout, path: Path) -> Iterator[Row]:
    import pyarrow.parquet as pq

    text, pair = layout.hub_columns
    for number, row in enumerate(pq.read_table(path).to_pylist(), 1):
        label = layout.classes[row["label"]] if layout.classes else str(row["label"])
        yield number, row[text].strip(), None if pair is None else row[pair].strip(), label


for _name, _layout in LAYOUTS.items():
    _read = partial(read_glue, _layout)
    _read.__doc__ = f"GLUE's {_layout.folder}, in its TSV layout or the hub's Parquet files."
    reader(f"glue/{_name}")(_read)
