"""Errors that a user can fix: one clear sentence each, never a traceback."""

from __future__ import annotations

from pathlib import Path


class HeadscopeError(Exception):
    """An error that the user can fix; its message says what is wrong and what to do.

    >>> str(HeadscopeError("no such head: L9.H1"))
    'no such head: L9.H1'
    """


class InputError(HeadscopeError):
    """A corpus file that cannot be read, with the file and the line of the error.

    >>> str(InputError("9 columns instead of 10", Path("a.conllu"), 12))
    'a.conllu, line 12: 9 columns instead of 10'
    """

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None):
        place = "" if path is None else f"{path}{'' if line is None else f', line {line}'}: "
        super().__init__(place + message)


class ModelError(HeadscopeError):
    """A model that cannot be loaded, or whose attention cannot be observed."""


class RunError(HeadscopeError):
    """A run folder that cannot be read or written."""
