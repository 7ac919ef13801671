"""JSON lines: one object per line, with `text` or `words` and optional annotation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headscope.corpus.example import Example, Link
from headscope.corpus.files import json_records
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError


@reader("jsonl", ".jsonl", ".json")
def read_jsonl(path: Path) -> Iterator[Example]:
    """JSON lines: `text` or `words`, optionally `pair`, `id`, `document`, `label`, `links`.

    `links` is a list of [from, to, "label"] with word positions from 0, and needs `words`. If
    `pair` is a list of words, their positions continue those of the first text.
    """
    for number, record in json_records(path):
        yield _example(record, path, number)


def _example(record: dict[str, Any], path: Path, number: int) -> Example:
    words, text, pair = record.get("words", []), record.get("text", ""), record.get("pair")
    if not isinstance(text, str) or not (pair is None or isinstance(pair, str | list)):
        raise InputError(
            "`text` and `pair` must be strings (or `pair` a list of words)", path, number
        )
    if not _strings(words) or (isinstance(pair, list) and not _strings(pair)):
        raise InputError("`words` must be a list of strings", path, number)
    if not text.strip() and not any(word.strip() for word in words):
        raise InputError("`text` and `words` are both missing or empty", path, number)
    if words and isinstance(pair, str):
        raise InputError("with `words`, `pair` must be a list of words too", path, number)
    size = len(words) + (len(pair) if isinstance(pair, list) else 0)
    return Example(
        str(record.get("id", number)),
        text="" if words else text,
        pair=pair if isinstance(pair, str) else None,
        words=tuple(words),
        pair_words=tuple(pair) if isinstance(pair, list) else (),
        document=None if record.get("document") is None else str(record["document"]),
        links=tuple(_links(record.get("links", []), size, path, number)),
        label=None if record.get("label") is None else str(record["label"]),
    )


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _links(links: Any, words: int, path: Path, number: int) -> Iterator[Link]:
    for link in links if isinstance(links, list) else [links]:
        match link:
            case [int(source), int(target), str(label)] if (
                0 <= source < words and 0 <= target < words and source != target
            ):
                yield Link(source, target, label)
            case _:
                expected = f'[from, to, "label"] with two positions from 0 to {words - 1}'
                raise InputError(f"a link is {json.dumps(link)}, not {expected}", path, number)
