"""Lines of a file, plain or gzipped, with their numbers, and errors that name the place."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from headscope.errors import InputError


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading bytes; a name that ends in .gz is unpacked on the way."""
    try:
        return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except IsADirectoryError:
        raise InputError("this is a folder; give the files in it", path) from None
    except PermissionError:
        raise InputError("this file may not be read (permission denied)", path) from None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends; UTF-8, a byte order mark is dropped."""
    number = 0
    with open_bytes(path) as stream:
        try:
            for number, raw in enumerate(stream, 1):
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                yield number, text.rstrip("\r\n")
        except UnicodeDecodeError as error:
            found = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
            raise InputError(f"{found}; convert the file to UTF-8", path, number) from None
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"not a whole gzip file ({error})", path, number + 1) from None


def word_list(path: Path) -> tuple[str, ...]:
    """Words of a file, one a line, in lower case; empty lines and those that begin with # apart."""
    words = [line.strip().lower() for _, line in lines(path)]
    kept = tuple(word for word in words if word and not word.startswith("#"))
    if not kept:
        raise InputError("no words in it; one a line", path)
    return kept


def digest(path: Path) -> str:
    """The sha256 of the file's text (unpacked, so that a.txt and a.txt.gz are the same).

    Of a folder: of the names and contents of all files in it.
    """
    sha = hashlib.sha256()
    if path.is_dir():
        for file in sorted(one for one in path.rglob("*") if one.is_file()):
            sha.update(f"{file.relative_to(path)} {digest(file)}\n".encode())
        return sha.hexdigest()
    with open_bytes(path) as stream:
        try:
            while block := stream.read(1 << 20):
                sha.update(block)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"not a whole gzip file ({error})", path) from None
    return sha.hexdigest()


def extension(path: Path) -> str:
    """The extension that tells the format, below a .gz.

    >>> extension(Path("en_ewt.conllu.gz"))
    '.conllu'
    """
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
