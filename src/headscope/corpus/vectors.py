"""Static word vectors, from GloVe or word2vec text files or from npz files."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.files import lines
from headscope.errors import InputError

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class WordVectors:
    """Word vectors; words that are missing have the zero vector.

    Attributes:
        name: name of the file.
        rows: the row of each word in `table`.
        table: (word, size)
    """

    name: str
    rows: dict[str, int]
    table: Floats

    @property
    def size(self) -> int:
        """The dimension of the vectors."""
        return int(self.table.shape[1])

    def row_of(self, word: str) -> int | None:
        """The row of a word as written, or else of its lower-case form; None if neither exists."""
        return self.rows.get(word, self.rows.get(word.lower()))

    def of(self, words: Collection[str]) -> Floats:
        """(word, size) the vectors of words.

        >>> vectors = WordVectors("cats.txt", {"cat": 0}, np.ones((1, 2), dtype=np.float32))
        >>> vectors.of(["Cat", "xyz"]).tolist()
        [[1.0, 1.0], [0.0, 0.0]]
        """
        vectors = np.zeros((len(words), self.size), dtype=np.float32)
        for position, word in enumerate(words):
            row = self.row_of(word)
            if row is not None:
                vectors[position] = self.table[row]
        return vectors


def read_vectors(path: Path, words: Collection[str]) -> WordVectors:
    """Read the vectors of these words and of their lower-case forms.

    Args:
        path: text with a word and its vector on each line (GloVe, word2vec), or an npz file with
            the arrays `words` and `vectors`.
    """
    wanted = {*words, *(word.lower() for word in words)}
    if path.suffix == ".npz":
        return _npz(path, wanted)
    return _text(path, wanted)


def _npz(path: Path, wanted: set[str]) -> WordVectors:
    try:
        with np.load(path, allow_pickle=False) as stored:
            words, table = stored["words"], stored["vectors"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"no word vectors ({error}); an npz file needs the arrays 'words' and 'vectors'", path
        ) from None
    if table.shape[:1] != words.shape or table.shape != (len(words), table[0].size):
        raise InputError(f"{len(words)} words, but vectors of shape {table.shape}", path)
    kept = [place for place, word in enumerate(words.tolist()) if word in wanted]
    rows = {str(words[place]): row for row, place in enumerate(kept)}
    return WordVectors(path.name, rows, table[kept].astype(np.float32))


def _text(path: Path, wanted: set[str]) -> WordVectors:
    rows: dict[str, int] = {}
    vectors: list[Floats] = []
    size = 0
    for number, line in lines(path):
        word, *values = line.rstrip().split(" ")
        if number == 1 and len(values) == 1 and values[0].isdecimal():
            continue  # word2vec's header: number of words and dimension
        size = size or len(values)
        if len(values) != size:
            raise InputError(f"{len(values)} numbers instead of {size}", path, number)
        if word in wanted and word not in rows:
            try:
                vectors.append(np.array(values, dtype=np.float32))
            except ValueError:
                raise InputError(f"the vector of {word!r} has non-numbers", path, number) from None
            rows[word] = len(vectors) - 1
    if not size:
        raise InputError("no word vectors in this file", path)
    table = np.stack(vectors) if vectors else np.zeros((0, size), dtype=np.float32)
    return WordVectors(path.name, rows, table)
