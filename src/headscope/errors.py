"""What a user is told when something cannot be done: one clear sentence, never a traceback."""

from __future__ import annotations

from pathlib import Path


class HeadscopeError(Exception):
    """Something that the user can mend; its text says what was found and what to do.

    >>> str(HeadscopeError("no such head: L9.H1"))
    'no such head: L9.H1'
    """


class InputError(HeadscopeError):
    """A corpus file that cannot be read as asked, with its place.

    >>> str(InputError("9 columns instead of 10", Path("a.conllu"), 12))
    'a.conllu, line 12: 9 columns instead of 10'
    """

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None):
        place = "" if path is None else f"{path}{'' if line is None else f', line {line}'}: "
        super().__init__(place + message)


class ModelError(HeadscopeError):
    """A model that cannot be loaded, or whose attention cannot be seen."""


class RunError(HeadscopeError):
    """A run folder that cannot be used as asked."""
