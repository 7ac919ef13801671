"""Ctrl-C that cannot get lost.

Python raises KeyboardInterrupt wherever it happens to be, and a library that catches every
exception there swallows it. The request is therefore recorded as well, and long-running loops call
`raise_if_interrupted` between two steps.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_interrupted = threading.Event()


@contextmanager
def interruptible() -> Iterator[None]:
    """Record Ctrl-C for the duration of the block; has no effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous_handler = signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
        _interrupted.clear()


def _interrupt(_: int, __: FrameType | None) -> None:
    _interrupted.set()
    raise KeyboardInterrupt


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt if the user pressed Ctrl-C and the exception was swallowed."""
    if _interrupted.is_set():
        raise KeyboardInterrupt
