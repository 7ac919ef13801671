"""How far long work is: a bar on a terminal, plain lines elsewhere, nothing when not wanted."""

from __future__ import annotations

import sys
import time
from threading import Lock

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

EVERY = 10.0
"""Seconds between two plain lines."""


class Silent:
    """Says nothing.

    Attributes:
        heard: whether what is said reaches anybody; what is costly to say is not worked out if not.
    """

    heard = False

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def say(self, text: str) -> None:
        """A sentence."""

    def begin(self, text: str, total: int, done: int = 0) -> None:
        """A piece of work of known size begins."""

    def advance(self, amount: int) -> None:
        """Some of it is done."""

    def end(self) -> None:
        """All of it is done."""


class Lines(Silent):
    """Plain lines on standard error, one every few seconds, for logs."""

    heard = True

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.text, self.total, self.done, self.lock = text, total, done, Lock()
        self.start, self.last, self.before = time.monotonic(), time.monotonic(), done

    def advance(self, amount: int) -> None:
        with self.lock:  # a crew works in threads
            self.done += amount
            now = time.monotonic()
            if now - self.last >= EVERY:
                self.last = now
                left = (now - self.start) / (self.done - self.before) * (self.total - self.done)
                self.say(f"{self.text}: {self.done:,} of {self.total:,}, {duration(left)} left")

    def end(self) -> None:
        self.say(f"{self.text}: done in {duration(time.monotonic() - self.start)}")


class Bar(Silent):
    """A progress bar on a terminal."""

    heard = True

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
        )
        self.task: TaskID | None = None

    def __enter__(self) -> Bar:
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False)

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.task = self.progress.add_task(text, total=total, completed=done)

    def advance(self, amount: int) -> None:
        if self.task is not None:
            self.progress.advance(self.task, amount)


def progress_for_terminal(quiet: bool = False) -> Silent:
    """A bar where somebody watches, plain lines where a log is written."""
    if quiet:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines()


def duration(seconds: float) -> str:
    """A time that a person would say.

    >>> duration(0.4), duration(75), duration(7300)
    ('1 s', '75 s', '2 h 2 min')
    """
    whole = max(1, round(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
