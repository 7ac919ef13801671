"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from headscope.errors import RunError

LOCK = ".lock"
PART = ".part"
"""How the name of a file ends while it is being written; a killed process may leave one."""
REASONS = {
    errno.ENOSPC: "the disk is full; make room and run the same command again",
    errno.EDQUOT: "the disk quota is used up; make room and run the same command again",
    errno.EACCES: "it may not be written (permission denied); choose another place",
    errno.EPERM: "it may not be written (not permitted); choose another place",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
    errno.EISDIR: "it is a folder; give the name of a file",
    errno.ENOENT: "its folder does not exist",
    errno.ENAMETOOLONG: "its name is too long",
}


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says when a path cannot be written into a sentence for the user."""
    try:
        yield
    except OSError as error:
        reason = REASONS.get(error.errno or 0, error.strerror or str(error))
        raise RunError(f"cannot write {path}: {reason}") from error


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Make a folder one's own for the time of a `with`: one process writes to it at a time."""
    lock = FileLock(folder / LOCK)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise RunError(f"{folder} is being written by another headscope") from None
    try:
        for half in folder.glob(f"*{PART}"):
            shutil.rmtree(half) if half.is_dir() else half.unlink()
        yield
    finally:
        lock.release()
        (folder / LOCK).unlink(missing_ok=True)


def is_empty(folder: Path) -> bool:
    """Whether nothing is there but what a killed process of ours leaves: its lock, a half file."""
    if not folder.exists():
        return True
    return folder.is_dir() and all(
        one.name == LOCK or one.name.endswith(PART) for one in folder.iterdir()
    )


def write(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Write a file through `fill`; it appears whole, replacing what was there, or not at all."""
    with writing(path):
        handle, name = tempfile.mkstemp(f".{path.name}{PART}", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                fill(stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, usual_mode())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, in UTF-8."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole."""
    write(path, lambda stream: stream.write(content))


def usual_mode() -> int:
    """Who may read and write a new file, as the user's settings want it."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
