"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from headscope.errors import RunError

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


def write(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Write a file through `fill`; it appears whole, replacing what was there, or not at all."""
    with writing(path):
        handle, name = tempfile.mkstemp(f".{path.name}{PART}", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                fill(stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, 0o666 & ~_umask())
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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
