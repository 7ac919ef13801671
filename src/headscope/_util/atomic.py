"""Atomic file writes: a file is complete or it does not exist."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from headscope.errors import RunError

LOCK_NAME = ".lock"
"""Name of the lock file in a folder that is written by one process at a time."""
PARTIAL_SUFFIX = ".part"
"""Suffix of a file that is still being written; a killed process may leave one behind."""
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
def explain_write_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` raised while a path is written into a `RunError` that says what to do."""
    try:
        yield
    except OSError as error:
        reason = REASONS.get(error.errno or 0, error.strerror or str(error))
        raise RunError(f"cannot write {path}: {reason}") from error


@contextmanager
def exclusive_folder(folder: Path) -> Iterator[None]:
    """Create a folder if needed and lock it, so that only one process writes to it at a time.

    Partial files that a killed process left behind are removed. The lock file stays in the folder:
    if it were deleted, two processes could hold locks on two files of the same name.
    """
    lock = FileLock(folder / LOCK_NAME)
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise RunError(f"{folder} is being written by another headscope process") from None
    try:
        for partial in folder.glob(f"*{PARTIAL_SUFFIX}"):
            shutil.rmtree(partial) if partial.is_dir() else partial.unlink()
        yield
    finally:
        lock.release()


def is_empty(folder: Path) -> bool:
    """Whether a folder is missing or holds nothing but a lock file and partial files.

    >>> is_empty(Path("no such folder"))
    True
    """
    if not folder.exists():
        return True
    return folder.is_dir() and all(
        path.name == LOCK_NAME or path.name.endswith(PARTIAL_SUFFIX) for path in folder.iterdir()
    )


def write(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Write a file atomically: `fill` writes to a temporary file, which then replaces `path`."""
    part = path.parent / f"tmp{secrets.token_hex(4)}.{path.name}{PARTIAL_SUFFIX}"
    with explain_write_errors(path):
        descriptor = _create(part)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                fill(stream)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes to a file atomically."""
    write(path, lambda stream: stream.write(content))


def default_file_mode(folder: Path) -> int:
    """Permission bits that a new file gets in a folder.

    Read from a temporary file. `os.umask` can only be read by setting it, which in two threads at
    once may leave the whole process with the wrong one.
    """
    probe = folder / f"tmp{secrets.token_hex(4)}{PARTIAL_SUFFIX}"
    descriptor = _create(probe)
    try:
        return os.fstat(descriptor).st_mode & 0o777
    finally:
        os.close(descriptor)
        probe.unlink()


def _create(path: Path) -> int:
    """Descriptor of a new, empty file that has the permissions the user's umask allows."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o666)
