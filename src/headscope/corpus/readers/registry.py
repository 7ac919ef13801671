"""The registry of readers, and what a reader is.

A reader is a generator function from a path to `Example`s. It must yield examples

- with an `id` that is unique in the corpus and does not depend on where the file lies, and with
  the `document` that the example is part of, if the corpus has documents: intervals treat
  documents as independent, never the sentences of one;
- with either `text` (and `pair`) as raw strings, or `words` (and `pair_words`) if the corpus is
  tokenized; annotation needs `words` and refers to them by position from 0;
- in the same order each time, one by one: a corpus is read more than once and never held whole.

Malformed input raises `headscope.errors.InputError` with the path and the line number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import cast

from headscope._util.plugins import load_plugins, register
from headscope.corpus.example import Example
from headscope.corpus.files import extension
from headscope.errors import InputError

PACKAGE = "headscope.corpus.readers"
Read = Callable[[Path], Iterator[Example]]


@dataclass(frozen=True)
class Reader:
    """A registered reader.

    Attributes:
        name: selects the reader, as in `NAME:PATH`.
        extensions: file extensions that it is the default for.
        read: yields the examples of a file.
    """

    name: str
    extensions: tuple[str, ...]
    read: Read

    @property
    def about(self) -> str:
        """The first line of the reader's docstring."""
        return (self.read.__doc__ or "").strip().partition("\n")[0]


_READERS: dict[str, Reader] = {}


def reader(name: str, *extensions: str) -> Callable[[Read], Read]:
    """Register a reader; the first line of its docstring describes it to users.

    A package of your own registers its readers in a module that it names in the entry-point
    group `headscope.readers`; in a script or notebook the decorator is enough.

    Args:
        name: selects the reader, as in `NAME:PATH`; a name that is taken is refused.
        extensions: file extensions, such as `.vrt`, that it becomes the default for. A built-in
            reader keeps its extensions.

    >>> from headscope.corpus import Example, reader
    >>> @reader("doctest-shouting")
    ... def read_shouting(path):
    ...     '''One text per line, in capitals.'''
    ...     with path.open(encoding="utf-8") as lines:
    ...         for number, line in enumerate(lines, 1):
    ...             yield Example(str(number), text=line.strip().upper())
    >>> readers()["doctest-shouting"].about
    'One text per line, in capitals.'
    >>> del _READERS["doctest-shouting"]
    """

    def add(read: Read) -> Read:
        if not read.__module__.startswith(f"{PACKAGE}."):
            _load_built_in()  # so that the newcomer is refused where a name is taken
        register(cast(dict[str, object], _READERS), "reader", name, Reader(name, extensions, read))
        return read

    return add


@cache
def _load_built_in() -> None:
    """Import the modules of this package; importing them registers their readers."""
    for module in iter_modules(import_module(PACKAGE).__path__):
        import_module(f"{PACKAGE}.{module.name}")


def readers() -> dict[str, Reader]:
    """All readers by name: the built-in ones, then those of plug-ins.

    >>> sorted(readers())  # doctest: +ELLIPSIS
    ['conll2012', 'conllu', 'conllx', 'csv', 'framenet', 'gap', 'glue/cola', ...
    """
    _load_built_in()
    load_plugins("readers")
    return dict(_READERS)


def reader_for(path: Path, name: str | None = None) -> Reader:
    """The reader of that name, or else the default reader for the file's extension.

    >>> reader_for(Path("a.conllu.gz")).name
    'conllu'
    """
    available = readers()
    if name is not None:
        return available[name]
    for candidate in available.values():
        if extension(path) in candidate.extensions:
            return candidate
    raise InputError(
        f"unknown file format; write READER:{path.name}, where READER is one of "
        f"{', '.join(sorted(available))}",
        path,
    )
