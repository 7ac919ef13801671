"""Ctrl-C that cannot get lost.

Python raises KeyboardInterrupt wherever it happens to be, and a library that catches everything
there swallows it: the work would go on. So the wish is also written down, and long work looks
whether there is one between two shards.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = threading.Event()


@contextmanager
def interruptible() -> Iterator[None]:
    """Write Ctrl-C down for the time of a `with`; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _asked.clear()


def _ask(_: int, __: FrameType | None) -> None:
    _asked.set()
    raise KeyboardInterrupt


def heed() -> None:
    """Stop here if the user asked for it and nobody heard."""
    if _asked.is_set():
        raise KeyboardInterrupt
