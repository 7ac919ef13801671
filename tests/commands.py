"""The command line in processes of its own, which start in a moment.

A server process imports the heavy libraries once (see `preloaded.py`); every command runs in a
fork of it, with one thread, in a folder of its own choice.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import sys
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

PRELOADED = ["tests.preloaded"]
"""Nothing of headscope: every command imports that itself, as a user's does."""


@dataclass(frozen=True)
class Completed:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str
    seconds: float


def run_headscope(arguments: list[str], folder: Path, paths: list[Path] | None = None) -> Completed:
    """Run `headscope` with these arguments.

    Args:
        folder: the working folder.
        paths: folders that Python looks into first, as PYTHONPATH would name them.
    """
    return Command(["headscope", *arguments], folder, paths).wait()


def run_python(code: str, folder: Path, paths: list[Path] | None = None) -> Completed:
    """Run some Python code as `python -c` does; `paths` as in `run_headscope`."""
    return Command(["-c"], folder, paths, before=code).wait()


class Command:
    """A command at work in a process of its own.

    Args:
        before: Python code that is run first.
    """

    def __init__(
        self, arguments: list[str], folder: Path, paths: list[Path] | None = None, before: str = ""
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        self._pipe, theirs = context.Pipe()
        names = [str(path) for path in paths or ()]
        work = (theirs, arguments, before, str(folder), names)
        self.process = context.Process(target=_work, args=work)
        self.process.start()
        theirs.close()

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.is_alive()

    def signal(self, number: int) -> None:
        """Send it a signal, as the keyboard or the system would."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def wait(self) -> Completed:
        """What it left behind, once it has ended."""
        try:
            completed: Completed = self._pipe.recv()
        except EOFError:
            completed = Completed(-1, "", "the process died", 0.0)
        self.process.join()
        return completed


def _work(
    pipe: Connection, arguments: list[str], before: str, folder: str, paths: list[str]
) -> None:
    import torch

    torch.set_num_threads(1)
    os.environ["COLUMNS"] = "200"  # a wide terminal: nothing is broken into lines
    os.chdir(folder)
    sys.path[:0] = paths
    sys.argv = arguments
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exec(compile(before, "<snippet>", "exec"), {"__name__": "__main__"})
            if arguments[0] == "headscope":
                from headscope.cli.main import main

                main()
        except SystemExit as ended:
            status = ended.code
        except BaseException:
            traceback.print_exc()
            status = 1
    number = status if isinstance(status, int) else int(status is not None)
    times = os.times()
    pipe.send(Completed(number, out.getvalue(), err.getvalue(), times.user + times.system))
    pipe.close()
