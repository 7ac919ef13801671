"""Files are written whole, with the user's permissions; a folder has one writer at a time."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from filelock import FileLock

from headscope._util.atomic import (
    default_file_mode,
    exclusive_folder,
    is_empty,
    write,
    write_text,
)
from headscope.errors import RunError


@pytest.fixture(params=[0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_files_have_the_permissions_of_the_umask(tmp_path: Path, umask: int) -> None:
    write_text(tmp_path / "file", "text")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~umask
    assert default_file_mode(tmp_path) == 0o666 & ~umask
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_writing_never_sets_the_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The umask belongs to the process: two threads that set and restore it may leave it at 0."""

    def forbidden(_: int) -> int:
        raise AssertionError("the umask was set")

    monkeypatch.setattr(os, "umask", forbidden)
    write_text(tmp_path / "file", "text")
    default_file_mode(tmp_path)


def test_many_threads_leave_the_umask_alone(tmp_path: Path, umask: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        for number in range(400):
            pool.submit(write_text, tmp_path / str(number), "text")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {0o666 & ~umask}
    before = os.umask(umask)
    assert before == umask


def test_a_file_that_cannot_be_filled_leaves_the_old_one(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "old")

    def fail(_: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        write(tmp_path / "file", fail)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_folder_has_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        exclusive_folder(tmp_path),
        pytest.raises(RunError, match="being written by another"),
        exclusive_folder(tmp_path),
    ):
        pass
    assert is_empty(tmp_path)


def test_a_writer_that_leaves_does_not_unlock_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock file deleted after its release is the next writer's by then, and a third gets in."""
    release = FileLock.release

    with ExitStack() as second:

        def release_and_let_in(lock: FileLock, force: bool = False) -> None:
            release(lock, force)
            monkeypatch.undo()
            second.enter_context(exclusive_folder(tmp_path))  # before the first has quite left

        monkeypatch.setattr(FileLock, "release", release_and_let_in)
        with exclusive_folder(tmp_path):
            pass
        with (
            pytest.raises(RunError, match="being written by another"),
            exclusive_folder(tmp_path),
        ):
            pass
    with exclusive_folder(tmp_path):
        pass
