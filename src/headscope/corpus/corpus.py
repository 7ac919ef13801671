"""A corpus: a named source of examples that can be read again and again, never held whole."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files as resources
from itertools import islice
from pathlib import Path
from typing import Any

from headscope._util.plugins import did_you_mean
from headscope.corpus.example import Example
from headscope.corpus.files import digest
from headscope.corpus.readers import Reader, reader_for, readers
from headscope.corpus.readers.glue import glue_file
from headscope.errors import InputError

BUNDLED = {"tour": ("*.conllu", "conllu"), "tour-pairs": ("twins.jsonl", "jsonl")}
"""The bundled texts by name: their files, and what reads them."""
SOURCES = "DATA is a path, READER:PATH, glue/TASK, or 'tour'"


@dataclass(frozen=True)
class Corpus:
    """One or more files read by one reader, cut to documents or to a number of examples.

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
        chosen = (
            example
            for path in self.paths
            for example in self.reader.read(path)
            if self.documents is None or matches(example.unit, self.documents)
        )
        return islice(chosen, self.limit)

    def describe(self) -> dict[str, Any]:
        """What identifies the data, for the run's record; paths do not, contents do."""
        return {
            "name": self.name,
            "reader": self.reader.name,
            "files": [path.name for path in self.paths],
            "sha256": [digest(path) for path in self.paths],
            "limit": self.limit,
            "documents": self.documents,
        }


def _hint(source: str) -> str:
    """What may have been meant by a source that does not exist."""
    prefix, colon, _ = source.partition(":")
    if colon and prefix not in readers():
        return did_you_mean(prefix, readers()) or f" (readers: {', '.join(readers())})"
    return "" if colon else did_you_mean(source, [*BUNDLED, *readers()])


def matches(unit: str, patterns: str) -> bool:
    """Whether a document's id matches one of some patterns, with commas between them.

    >>> matches("wsj_0123", "wsj_00*,wsj_01[0-5]?")
    True
    """
    return any(fnmatch.fnmatchcase(unit, pattern.strip()) for pattern in patterns.split(","))


def read(
    source: str | Path,
    *,
    limit: int | None = None,
    documents: str | None = None,
    part: str = "dev",
    glue_dir: str | Path | None = None,
) -> Corpus:
    """Name a corpus: `tour`, `tour-pairs`, `glue/mrpc`, a path, `READER:PATH`; nothing is read yet.

    Args:
        limit: only the first so many examples.
        documents: only documents whose id matches one of these patterns (`wsj_00*,wsj_01*`).
        part: of GLUE: `dev`, `train`, or the name of a file.
        glue_dir: the folder with GLUE's TSV files; None: the hub.

    >>> read("tour", limit=3).limit
    3
    """
    if limit is not None and limit < 1:
        raise InputError(f"the limit must be at least 1, not {limit}")
    if str(source) in BUNDLED:
        pattern, reader = BUNDLED[str(source)]
        folder = Path(str(resources("headscope.corpus"))) / "tour"
        paths = tuple(sorted(folder.glob(pattern)))
        return Corpus(str(source), paths, readers()[reader], limit, documents)
    if str(source).startswith("glue/") and str(source) in readers():
        task = str(source).removeprefix("glue/")
        path = glue_file(task, part, None if glue_dir is None else Path(glue_dir))
        return Corpus(task, (path,), readers()[str(source)], limit, documents)
    prefix, colon, rest = str(source).partition(":")
    known = colon == ":" and prefix in readers()
    path = Path(rest if known else source)
    if (path / "run.json").exists():
        raise InputError("this is a run folder; open it with headscope.open", path)
    if not path.exists():
        raise InputError(f"no such file{_hint(str(source))}; {SOURCES}", path)
    name = (path.with_suffix("") if path.suffix == ".gz" else path).stem
    return Corpus(name, (path,), reader_for(path, prefix if known else None), limit, documents)
