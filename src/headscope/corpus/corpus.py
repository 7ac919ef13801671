"""A corpus: a named source of examples that can be read repeatedly and is never held whole."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files as resources
from itertools import islice
from pathlib import Path
from typing import Any

from headscope._util.plugins import did_you_mean
from headscope.corpus.example import Example
from headscope.corpus.files import digest
from headscope.corpus.readers.registry import Reader, reader_for, readers
from headscope.errors import InputError

BUNDLED = {"tour": ("*.conllu", "conllu"), "tour-pairs": ("twins.jsonl", "jsonl")}
"""The bundled texts by name: a pattern for their files, and their reader."""
PARALLEL = "parallel"
SOURCES = "DATA is a path, READER:PATH, glue/TASK, or 'tour'"


@dataclass(frozen=True)
class Corpus:
    """One or more files with their reader, optionally limited to some documents or examples.

    >>> tour = read("tour")
    >>> next(iter(tour)).id
    'tour_bakery-1'
    """

    name: str
    paths: tuple[Path, ...]
    reader: Reader
    limit: int | None = None
    documents: str | None = None

    def __iter__(self) -> Iterator[Example]:
        every = (example for path in self.paths for example in self.reader.read(path))
        return islice(self.selected(every), self.limit)

    def selected(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Those of some examples that are in the documents that were asked for."""
        for example in examples:
            if self.documents is None or matches_any(example.unit, self.documents):
                yield example

    def describe(self) -> dict[str, Any]:
        """What identifies the data in the run's record: contents, not paths."""
        return {
            "name": self.name,
            "reader": self.reader.name,
            "files": [path.name for path in self.paths],
            "sha256": [digest(path) for path in self.paths],
            "limit": self.limit,
            "documents": self.documents,
        }


def matches_any(name: str, patterns: str) -> bool:
    """Whether a document id matches any of several comma-separated patterns.

    >>> matches_any("wsj_0123", "wsj_00*,wsj_01[0-5]?")
    True
    """
    return any(fnmatch.fnmatchcase(name, pattern.strip()) for pattern in patterns.split(","))


def read(
    source: str | Path,
    *,
    limit: int | None = None,
    documents: str | None = None,
    part: str = "dev",
    glue_dir: str | Path | None = None,
    source_annotation: str | Path | None = None,
    target_annotation: str | Path | None = None,
) -> Corpus:
    """Open a corpus; nothing is read until it is iterated over.

    Args:
        source: a path, `READER:PATH`, `glue/TASK`, or one of the bundled `tour` and `tour-pairs`;
            texts and their translations in two files, line by line: `parallel:FILE,FILE` (a third
            file may have word alignments).
        limit: read only the first `limit` examples.
        documents: read only documents whose id matches one of these comma-separated patterns
            (`wsj_00*,wsj_01*`).
        part: the part of a GLUE task: `dev`, `train`, or a file name.
        glue_dir: the folder with the GLUE TSV files; None downloads them from the hub.
        source_annotation, target_annotation: treebanks (CoNLL-U) of the texts of a `parallel:`
            corpus, and of their translations, sentence by sentence.

    >>> read("tour", limit=3).limit
    3
    """
    if limit is not None and limit < 1:
        raise InputError(f"the limit must be at least 1, not {limit}")
    if str(source).startswith(f"{PARALLEL}:"):
        from headscope.corpus.parallel_corpora import ParallelCorpus

        files = [Path(name) for name in str(source).removeprefix(f"{PARALLEL}:").split(",")]
        _check_parallel(files)
        trees = [
            None if path is None else Path(path) for path in (source_annotation, target_annotation)
        ]
        reader_ = readers()[PARALLEL]
        return ParallelCorpus(_name(files[0]), tuple(files), reader_, limit, documents, *trees)
    if source_annotation is not None or target_annotation is not None:
        raise InputError("only a corpus that is read as parallel:FILE has source and target texts")
    if str(source) in BUNDLED:
        pattern, reader = BUNDLED[str(source)]
        folder = Path(str(resources("headscope.corpus"))) / "tour"
        paths = tuple(sorted(folder.glob(pattern)))
        return Corpus(str(source), paths, readers()[reader], limit, documents)
    if str(source).startswith("glue/") and str(source) in readers():
        from headscope.corpus.readers.glue import glue_file

        task = str(source).removeprefix("glue/")
        path = glue_file(task, part, None if glue_dir is None else Path(glue_dir))
        return Corpus(task, (path,), readers()[str(source)], limit, documents)
    path, reader_name = _split_source(str(source))
    return Corpus(_name(path), (path,), reader_for(path, reader_name), limit, documents)


def _name(path: Path) -> str:
    return (path.with_suffix("") if path.suffix == ".gz" else path).stem


def _check_parallel(files: list[Path]) -> None:
    """Raise an error if files cannot be texts and their translations."""
    if len(files) > 3:
        raise InputError(
            f"{len(files)} files; write parallel:TEXTS,TRANSLATIONS or "
            "parallel:TEXTS,TRANSLATIONS,ALIGNMENTS"
        )
    for path in files:
        if not path.exists():
            raise InputError("no such file", path)


def _split_source(source: str) -> tuple[Path, str | None]:
    """The existing path of a source, and the reader named before it."""
    prefix, colon, rest = source.partition(":")
    has_reader = colon == ":" and prefix in readers()
    path = Path(rest if has_reader else source)
    if (path / "run.json").exists():
        raise InputError("this is a run folder; open it with headscope.open", path)
    if not path.exists():
        raise InputError(f"no such file{_hint(source)}; {SOURCES}", path)
    return path, prefix if has_reader else None


def _hint(source: str) -> str:
    """A suggestion for a source that does not exist."""
    prefix, colon, _ = source.partition(":")
    if colon and prefix not in readers():
        return did_you_mean(prefix, readers()) or f" (readers: {', '.join(sorted(readers()))})"
    return "" if colon else did_you_mean(source, [*BUNDLED, *readers()])
