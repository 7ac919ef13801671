"""How a verb fails: one sentence on standard error and a non-zero exit, never a traceback."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec

import typer

from headscope._util.interrupt import interruptible
from headscope._util.printable import printable
from headscope.errors import HeadscopeError

P = ParamSpec("P")


def report_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Report whatever the user can fix in one sentence, with a non-zero exit."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            with interruptible():
                command(*arguments, **options)
        except HeadscopeError as error:
            fail(str(error), 1)
        except KeyboardInterrupt:
            fail("interrupted; the same command resumes where it stopped", 130)
        except MemoryError:
            fail("not enough memory; try a smaller --max-length", 1)

    return run


def warn(message: str) -> None:
    """Print one line on standard error."""
    print(f"headscope: {printable(message)}", file=sys.stderr)


def fail(message: str, code: int) -> NoReturn:
    """Print what is wrong and stop."""
    warn(message)
    raise typer.Exit(code)
