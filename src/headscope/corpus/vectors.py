"""Static word vectors: GloVe's text, or an npz with `words` and `vectors`."""

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
class Vectors:
    """Vectors of words; a word that has none has zeros.

    Attributes:
        name: of the file.
        places: the row of each word in `table`.
        table: (word, size)
    """

    name: str
    places: dict[str, int]
    table: Floats

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        return int(self.table.shape[1])

    def place(self, word: str) -> int | None:
        """The row of a word as it is written, or in small letters."""
        return self.places.get(word, self.places.get(word.lower()))

    def of(self, words: Collection[str]) -> Floats:
        """(word, size) the vectors of some words.

        >>> made = Vectors("made", {"cat": 0}, np.ones((1, 2), dtype=np.float32))
        >>> made.of(["Cat", "xyz"]).tolist()
        [[1.0, 1.0], [0.0, 0.0]]
        """
        found = np.zeros((len(words), self.size), dtype=np.float32)
        for row, word in enumerate(words):
            place = self.place(word)
            if place is not None:
                found[row] = self.table[place]
        return found


def read_vectors(path: Path, words: Collection[str]) -> Vectors:
    """Read the vectors of these words (and of their small letters) from a file."""
    wanted = {*words, *(word.lower() for word in words)}
    if path.suffix == ".npz":
        return _npz(path, wanted)
    return _text(path, wanted)


def _npz(path: Path, wanted: set[str]) -> Vectors:
    try:
        with np.load(path, allow_pickle=False) as stored:
            words, table = stored["words"], stored["vectors"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot be read as word vectors ({error}); an npz has 'words' and 'vectors'", path
        ) from None
    if table.shape[:1] != words.shape or table.shape != (len(words), table[0].size):
        raise InputError(f"{len(words)} words and vectors of shape {table.shape}", path)
    places = [place for place, word in enumerate(words.tolist()) if word in wanted]
    named = {str(words[place]): row for row, place in enumerate(places)}
    return Vectors(path.name, named, table[places].astype(np.float32))


def _text(path: Path, wanted: set[str]) -> Vectors:
    named: dict[str, int] = {}
    rows: list[Floats] = []
    size = 0
    for number, line in lines(path):
        word, *values = line.rstrip().split(" ")
        if number == 1 and len(values) == 1 and values[0].isdecimal():
            continue  # word2vec's text begins with how many there are
        size = size or len(values)
        if len(values) != size:
            raise InputError(f"{len(values)} numbers where others have {size}", path, number)
        if word in wanted and word not in named:
            try:
                rows.append(np.array(values, dtype=np.float32))
            except ValueError:
                raise InputError(f"the vector of {word!r} is not numbers", path, number) from None
            named[word] = len(rows) - 1
    if not size:
        raise InputError("no vectors in it", path)
    table = np.stack(rows) if rows else np.zeros((0, size), dtype=np.float32)
    return Vectors(path.name, named, table)
