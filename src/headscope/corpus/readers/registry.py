"""Which reader reads which file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from headscope._util.plugins import load_plugins, register
from headscope.corpus.example import Example
from headscope.corpus.files import extension
from headscope.errors import InputError

Read = Callable[[Path], Iterator[Example]]


@dataclass(frozen=True)
class Reader:
    """A way to read a file: its name, the extensions it is the default for, and its docstring."""

    name: str
    extensions: tuple[str, ...]
    read: Read

    @property
    def about(self) -> str:
        """The first line of what the reader says of itself."""
        return (self.read.__doc__ or "").strip().partition("\n")[0]


_READERS: dict[str, Reader] = {}


def reader(name: str, *extensions: str) -> Callable[[Read], Read]:
    """Register a function from a path to examples under a name."""

    def add(read: Read) -> Read:
        register(cast(dict[str, object], _READERS), "reader", name, Reader(name, extensions, read))
        return read

    return add


def readers() -> dict[str, Reader]:
    """All readers by name.

    >>> sorted(readers())  # doctest: +ELLIPSIS
    ['conll2012', 'conllu', 'conllx', 'csv', 'framenet', 'gap', 'glue/cola', ...
    """
    load_plugins("readers")
    return dict(_READERS)


def reader_for(path: Path, name: str | None = None) -> Reader:
    """The reader of that name, or the one that the file's extension tells.

    >>> reader_for(Path("a.conllu.gz")).name
    'conllu'
    """
    if name is not None:
        return readers()[name]
    for candidate in readers().values():
        if extension(path) in candidate.extensions:
            return candidate
    known = ", ".join(readers())
    raise InputError(
        f"cannot tell the format from the name; write READER:{path.name} with one of {known}", path
    )
