"""The tasks of GLUE, from GLUE's own TSV files or the Parquet files of the hub."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from pathlib import Path

from headscope.corpus.example import Example
from headscope.corpus.files import lines
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError

REPOSITORY = "nyu-mll/glue"
"""The dataset on the hub."""


@dataclass(frozen=True)
class GlueTask:
    """The files, columns and classes of a task of GLUE.

    Attributes:
        folder: its folder in the GLUE download.
        columns: names of text, second text and label in the header of the TSV files.
        hub_columns: names of text and second text in the hub's files.
        classes: the classes in the order of their numbers; empty for a graded score.
        header: whether the TSV files have a header; otherwise `columns` are positions.
        dev, hub_dev: name of the development set, in the download and on the hub.
    """

    folder: str
    columns: tuple[str, str | None, str]
    hub_columns: tuple[str, str | None]
    classes: tuple[str, ...]
    header: bool = True
    dev: str = "dev"
    hub_dev: str = "validation"


MNLI = GlueTask(
    "MNLI",
    ("sentence1", "sentence2", "gold_label"),
    ("premise", "hypothesis"),
    ("entailment", "neutral", "contradiction"),
    dev="dev_matched",
    hub_dev="validation_matched",
)
SENTENCES = ("sentence1", "sentence2")
ENTAILED = ("entailment", "not_entailment")
GLUE_TASKS = {
    "mrpc": GlueTask("MRPC", ("#1 String", "#2 String", "Quality"), SENTENCES, ("0", "1")),
    "sts-b": GlueTask("STS-B", (*SENTENCES, "score"), SENTENCES, ()),
    "sst-2": GlueTask("SST-2", ("sentence", None, "label"), ("sentence", None), ("0", "1")),
    "qqp": GlueTask(
        "QQP", ("question1", "question2", "is_duplicate"), ("question1", "question2"), ("0", "1")
    ),
    "rte": GlueTask("RTE", (*SENTENCES, "label"), SENTENCES, ENTAILED),
    "qnli": GlueTask("QNLI", ("question", "sentence", "label"), ("question", "sentence"), ENTAILED),
    "mnli": MNLI,
    "mnli-mm": replace(MNLI, dev="dev_mismatched", hub_dev="validation_mismatched"),
    "cola": GlueTask("CoLA", ("3", None, "1"), ("sentence", None), ("0", "1"), header=False),
    "wnli": GlueTask("WNLI", (*SENTENCES, "label"), SENTENCES, ("0", "1")),
}


def glue_file(task: str, part: str, folder: Path | None) -> Path:
    """The file of a part (`train`, `dev`, or a file name) in the GLUE download or on the hub."""
    files = GLUE_TASKS[task]
    if folder is None:
        return _from_hub(task, files.hub_dev if part == "dev" else part)
    name = files.dev if part == "dev" else part
    for ending in (".tsv", ".tsv.gz"):
        path = folder / files.folder / f"{name}{ending}"
        if path.exists():
            return path
    present = ", ".join(sorted(file.name for file in (folder / files.folder).glob("*.tsv*")))
    contents = f"it has {present}" if present else f"no folder {files.folder} with TSV files"
    raise InputError(f"no {name}.tsv of glue/{task} ({contents})", folder)


def _from_hub(task: str, part: str) -> Path:
    from huggingface_hub import hf_hub_download

    config = {"sts-b": "stsb", "sst-2": "sst2", "mnli-mm": "mnli"}.get(task, task)
    name = f"{config}/{part}-00000-of-00001.parquet"
    try:
        return Path(hf_hub_download(REPOSITORY, name, repo_type="dataset"))
    except Exception as error:  # the hub's client raises what its transport raises
        raise InputError(
            f"glue/{task} could not be downloaded ({type(error).__name__}); "
            "name the folder with the GLUE TSV files: --glue-dir"
        ) from None


def read_glue(task: GlueTask, path: Path) -> Iterator[Example]:
    """Read a task of GLUE: its texts, and its label as a class name or a score."""
    rows = _parquet(task, path) if path.suffix == ".parquet" else _tsv(task, path)
    for number, text, pair, label in rows:
        if task.classes and label not in task.classes:
            classes = ", ".join(task.classes)
            raise InputError(f"label {label!r} is not one of {classes}", path, number)
        yield Example(str(number), text=text, pair=pair, label=label)


GlueRow = tuple[int, str, str | None, str]
"""Line number, text, second text, label."""


def _tsv(task: GlueTask, path: Path) -> Iterator[GlueRow]:
    rows = ((number, line.split("\t")) for number, line in lines(path) if line.strip())
    header = next(rows, (0, []))[1] if task.header else [str(place) for place in range(4)]
    try:
        text, label = (header.index(name) for name in (task.columns[0], task.columns[2]))
        pair = None if task.columns[1] is None else header.index(task.columns[1])
    except ValueError:
        expected = ", ".join(name for name in task.columns if name)
        raise InputError(f"the header must have the columns {expected}", path, 1) from None
    for number, row in rows:
        if len(row) != len(header):
            raise InputError(f"{len(row)} columns instead of {len(header)}", path, number)
        yield number, row[text].strip(), None if pair is None else row[pair].strip(), row[label]


def _parquet(task: GlueTask, path: Path) -> Iterator[GlueRow]:
    import pyarrow.parquet as pq

    text, pair = task.hub_columns
    for number, row in enumerate(pq.read_table(path).to_pylist(), 1):
        label = task.classes[row["label"]] if task.classes else str(row["label"])
        yield number, row[text].strip(), None if pair is None else row[pair].strip(), label


for _name, _task in GLUE_TASKS.items():
    _read = update_wrapper(partial(read_glue, _task), read_glue)
    _read.__doc__ = f"GLUE's {_task.folder}, as TSV or the hub's Parquet files."
    reader(f"glue/{_name}")(_read)
