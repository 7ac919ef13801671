"""The command line in processes of its own, which start in a moment.

A server process imports the heavy libraries once; every command runs in a fork of it, with one
thread, in a folder of its own choice.
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

PRELOADED = ["torch", "transformers", "altair", "pyarrow.parquet", "sklearn.manifold"]


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
    return _run(["headscope", *arguments], None, folder, paths or [])


def run_python(code: str, folder: Path) -> Completed:
    """Run some Python code as `python -c` does."""
    return _run(["-c"], code, folder, [])


def _run(arguments: list[str], code: str | None, folder: Path, paths: list[Path]) -> Completed:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    ours, theirs = context.Pipe()
    names = [str(path) for path in paths]
    child = context.Process(target=_work, args=(theirs, arguments, code, str(folder), names))
    child.start()
    theirs.close()
    try:
        completed: Completed = ours.recv()
    except EOFError:
        completed = Completed(-1, "", "the process died", 0.0)
    child.join()
    return completed


def _work(
    pipe: Connection, arguments: list[str], code: str | None, folder: str, paths: list[str]
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
            if code is None:
                from headscope.cli.main import main

                main()
            else:
                exec(compile(code, "<snippet>", "exec"), {"__name__": "__main__"})
        except SystemExit as ended:
            status = ended.code
        except BaseException:
            traceback.print_exc()
            status = 1
    number = status if isinstance(status, int) else int(status is not None)
    times = os.times()
    pipe.send(Completed(number, out.getvalue(), err.getvalue(), times.user + times.system))
    pipe.close()
