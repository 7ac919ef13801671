"""Numbered lines of plain or gzipped files, with errors that name file and line."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from headscope.errors import InputError


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading bytes; a .gz file is decompressed."""
    try:
        return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except IsADirectoryError:
        raise InputError("this is a folder; name a file in it", path) from None
    except PermissionError:
        raise InputError("permission denied", path) from None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and lines without line ends; UTF-8, with or without a byte order mark."""
    number = 0
    with open_bytes(path) as stream:
        try:
            for number, raw in enumerate(stream, 1):
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                yield number, text.rstrip("\r\n")
        except UnicodeDecodeError as error:
            problem = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
            raise InputError(f"{problem}; convert the file to UTF-8", path, number) from None
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"damaged gzip file ({error})", path, number + 1) from None


def json_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers and objects of a file of JSON lines; empty lines are skipped."""
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"not JSON: {error.msg} at column {error.colno}", path, number
            ) from None
        if not isinstance(record, dict):
            raise InputError("not a JSON object", path, number)
        yield number, record


def word_list(path: Path) -> tuple[str, ...]:
    """Words of a file in lower case, one per line; empty lines and # comments are skipped."""
    entries = [line.strip().lower() for _, line in lines(path)]
    words = tuple(entry for entry in entries if entry and not entry.startswith("#"))
    if not words:
        raise InputError("no words in this file; write one per line", path)
    return words


def digest(path: Path) -> str:
    """The sha256 of a file's decompressed contents (a.txt and a.txt.gz are equal).

    The digest of a folder covers the names and contents of all files in it.
    """
    sha = hashlib.sha256()
    if path.is_dir():
        for file in sorted(entry for entry in path.rglob("*") if entry.is_file()):
            sha.update(f"{file.relative_to(path)} {digest(file)}\n".encode())
        return sha.hexdigest()
    with open_bytes(path) as stream:
        try:
            while block := stream.read(1 << 20):
                sha.update(block)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"damaged gzip file ({error})", path) from None
    return sha.hexdigest()


def extension(path: Path) -> str:
    """The extension that tells the format, without .gz.

    >>> extension(Path("en_ewt.conllu.gz"))
    '.conllu'
    """
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
