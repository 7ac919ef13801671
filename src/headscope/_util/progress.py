"""Progress of long-running work: a bar on a terminal, plain lines in a log, or nothing."""

from __future__ import annotations

import sys
import time
from threading import Lock
from typing import TYPE_CHECKING, Self

from headscope._util.printable import printable

if TYPE_CHECKING:
    from rich.progress import TaskID

LINE_INTERVAL = 10.0
"""Seconds between two lines of `ProgressLines`."""


class Progress:
    """Receives messages and the progress of one piece of work at a time; ignores all by default.

    Attributes:
        visible: whether anything is displayed; if not, an expensive message need not be computed.
    """

    visible = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def say(self, text: str) -> None:
        """Display a message."""

    def begin(self, text: str, total: int, done: int = 0) -> None:
        """Begin a piece of work of `total` units, of which `done` are complete already."""

    def advance(self, amount: int) -> None:
        """Report that another `amount` of units are complete; may be called from any thread."""

    def end(self) -> None:
        """Report that the piece of work is complete."""


class NoProgress(Progress):
    """Displays nothing."""


class ProgressLines(Progress):
    """Plain lines on standard error, one every few seconds, for logs."""

    visible = True

    def say(self, text: str) -> None:
        print(printable(text), file=sys.stderr, flush=True)

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.text, self.total, self.done, self.lock = text, total, done, Lock()
        self.start, self.last_line, self.done_at_start = time.monotonic(), time.monotonic(), done

    def advance(self, amount: int) -> None:
        with self.lock:  # replicas of a model advance from their own threads
            self.done += amount
            now = time.monotonic()
            if now - self.last_line < LINE_INTERVAL:
                return
            self.last_line = now
            seconds_per_unit = (now - self.start) / (self.done - self.done_at_start)
            left = duration(seconds_per_unit * (self.total - self.done))
            self.say(f"{self.text}: {self.done:,} of {self.total:,}, {left} left")

    def end(self) -> None:
        self.say(f"{self.text}: done in {duration(time.monotonic() - self.start)}")


class ProgressBar(Progress):
    """A progress bar on a terminal."""

    visible = True

    def __init__(self) -> None:
        from rich import progress as columns
        from rich.console import Console

        self.console = Console(stderr=True)
        self.bars = columns.Progress(
            columns.TextColumn("{task.description}", markup=False),
            columns.BarColumn(),
            columns.MofNCompleteColumn(),
            columns.TimeElapsedColumn(),
            columns.TextColumn("left"),
            columns.TimeRemainingColumn(),
            console=self.console,
        )
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def say(self, text: str) -> None:
        self.console.print(printable(text), highlight=False, markup=False)

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.task = self.bars.add_task(printable(text), total=total, completed=done)

    def advance(self, amount: int) -> None:
        if self.task is not None:
            self.bars.advance(self.task, amount)


class ProgressWithin(Progress):
    """The progress of a run within another: it neither opens nor closes the display."""

    def __init__(self, outer: Progress) -> None:
        self.outer, self.visible = outer, outer.visible

    def say(self, text: str) -> None:
        self.outer.say(text)

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.outer.begin(text, total, done)

    def advance(self, amount: int) -> None:
        self.outer.advance(amount)

    def end(self) -> None:
        self.outer.end()


def progress_for_terminal(quiet: bool = False) -> Progress:
    """A progress bar if standard error is a terminal, plain lines if not, nothing if `quiet`."""
    if quiet:
        return NoProgress()
    return ProgressBar() if sys.stderr.isatty() else ProgressLines()


def duration(seconds: float) -> str:
    """A duration in the largest sensible unit.

    >>> duration(0.4), duration(75), duration(7300)
    ('1 s', '75 s', '2 h 2 min')
    """
    whole = max(1, round(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
