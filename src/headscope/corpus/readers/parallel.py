"""Texts with their translations: two columns, two files line by line, or JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from headscope.corpus.example import POSSIBLE, SURE, Example, Link
from headscope.corpus.files import extension, json_records, lines
from headscope.corpus.readers.conll import read_conllu
from headscope.corpus.readers.registry import reader
from headscope.errors import InputError

SIDES = ("source", "target")
JSON = (".jsonl", ".json")
TREES = (".conllu", ".conll")
COUNTED_FROM_ONE = (".talp",)
LINK = re.compile(r"(\d+)(-|p|\?)(\d+)")
"""`3-4` is sure; `3p4` and `3?4` are possible."""


@reader("parallel")
def read_parallel(path: Path) -> Iterator[Example]:
    """Texts with their translations: TSV with `source` and `target`, or JSON lines.

    A TSV file has a header with the columns `source`, `target` and if you like `id`, `document`,
    `alignment` (in Pharaoh's format, `0-0 1-2 2p3`, counting words between spaces), or no header
    and two columns. An object of a JSON lines file has `source` and `target` (or two languages,
    such as `de` and `en`); with `source_words` and `target_words` (`de_words`, `en_words`) the
    lists `sure` and `possible` may link their words as [from, to], counted from 0. Two files line
    by line are read as `parallel:FILE,FILE`.
    """
    yield from _from_json(path) if extension(path) in JSON else _from_table(path)


def read_aligned(paths: Sequence[Path]) -> Iterator[Example]:
    """Two files line by line, or two treebanks sentence by sentence; a third has word alignments.

    Args:
        paths: of the texts, of the translations, and of the alignments if there are any (Pharaoh's
            format, counted from 0; a file that ends in .talp counts from 1).
    """
    sides = [_side(path) for path in paths[:2]]
    links = lines(paths[2]) if len(paths) > 2 else iter(())
    for number, (source, target) in enumerate(zip_longest(*sides), 1):
        if source is None or target is None:
            short = paths[0] if source is None else paths[1]
            other = paths[1] if source is None else paths[0]
            raise InputError(f"it ends after {number - 1} texts, {other.name} does not", short)
        example = replace(source, translation=replace(target, id=source.id))
        if len(paths) > 2:
            _, line = next(links, (0, None))
            if line is None:
                raise InputError(f"it ends before text {number} of {paths[0].name}", paths[2])
            first = int(extension(paths[2]) in COUNTED_FROM_ONE)
            example = _linked(example, _pharaoh(line, first, paths[2], number), paths[2], number)
        yield example


def annotated(examples: Iterator[Example], trees: Path, *, translations: bool) -> Iterator[Example]:
    """Examples with the words and trees of a treebank that has the same texts in the same order.

    Args:
        translations: whether they are of the translations.
    """
    for example, tree in zip_longest(examples, _side(trees)):
        if example is None or tree is None:
            raise InputError("it has not as many sentences as there are texts", trees)
        text = example.translation if translations else example
        if text is None or _letters(text) != _letters(tree):
            raise InputError(
                f"its sentence {tree.id} is not the text {example.id}: {tree.text[:60]!r}", trees
            )
        if translations:
            yield replace(example, translation=replace(tree, id=example.id))
        else:
            kept = {name: getattr(example, name) for name in ("id", "document", "translation")}
            yield replace(tree, **kept)


def _letters(example: Example) -> str:
    return "".join((example.text or "".join(example.words)).split())


def _side(path: Path) -> Iterator[Example]:
    """The texts of one file."""
    if extension(path) in TREES:
        for example in read_conllu(path):
            before = example.spaces or (True,) * len(example.words)
            parts = zip(before, example.words, strict=True)
            text = "".join((" " if space else "") + word for space, word in parts).strip()
            yield replace(example, text=text)
        return
    for number, line in lines(path):
        if not line.strip():
            raise InputError("an empty line; the files are read line by line", path, number)
        yield Example(str(number), text=line.strip(), words=tuple(line.split()))


def _from_table(path: Path) -> Iterator[Example]:
    column = dict(zip(SIDES, (0, 1), strict=True))
    width = 2
    for number, line in lines(path):
        cells = line.split("\t")
        if number == 1 and set(SIDES) <= {cell.strip().lower() for cell in cells}:
            column = {cell.strip().lower(): place for place, cell in enumerate(cells)}
            width = len(cells)
            continue
        if not line.strip():
            continue
        if len(cells) != width:
            raise InputError(f"{len(cells)} columns instead of {width}", path, number)
        source, target = (cells[column[side]].strip() for side in SIDES)
        if not source or not target:
            raise InputError("a text or its translation is empty", path, number)
        name = cells[column["id"]] if "id" in column else str(number)
        document = cells[column["document"]] if "document" in column else None
        example = Example(
            name, text=source, document=document, translation=Example(name, text=target)
        )
        if "alignment" in column:
            links = _pharaoh(cells[column["alignment"]], 0, path, number)
            words = replace(example, words=tuple(source.split()))
            said = Example(name, text=target, words=tuple(target.split()))
            example = _linked(replace(words, translation=said), links, path, number)
        yield example


def _from_json(path: Path) -> Iterator[Example]:
    for number, record in json_records(path):
        yield _from_record(record, path, number)


def _from_record(record: dict[str, Any], path: Path, number: int) -> Example:
    languages = [key.removesuffix("_words") for key in record if key.endswith("_words")]
    names = SIDES if set(SIDES) <= set(record) else tuple(languages)
    if len(names) != 2:
        raise InputError("no `source` and `target` in this object", path, number)
    name = str(record.get("id", number))
    source, target = (_text(record, side, name, path, number) for side in names)
    document = record.get("document")
    example = replace(
        source, document=None if document is None else str(document), translation=target
    )
    links = [
        _pair(link, label, path, number)
        for label in (SURE, POSSIBLE)
        for link in record.get(label) or ()
    ]
    return _linked(example, links, path, number) if links else example


def _text(record: dict[str, Any], side: str, name: str, path: Path, number: int) -> Example:
    text, words = record.get(side, ""), record.get(f"{side}_words", [])
    if isinstance(text, list):
        text, words = "", text
    if not isinstance(text, str) or not isinstance(words, list):
        raise InputError(f"`{side}` must be a string or a list of words", path, number)
    if not all(isinstance(word, str) and word.strip() for word in words):
        raise InputError(f"the words of `{side}` must be strings", path, number)
    if not text.strip() and not words:
        raise InputError(f"`{side}` is missing or empty", path, number)
    return Example(name, text=text.strip(), words=tuple(words))


def _pair(link: Any, label: str, path: Path, number: int) -> Link:
    match link:
        case [int(source), int(target)]:
            return Link(source, target, label)
    raise InputError(f"a link is {json.dumps(link)}, not [from, to]", path, number)


def _pharaoh(text: str, first: int, path: Path, number: int) -> list[Link]:
    links = []
    for part in text.split():
        match = LINK.fullmatch(part)
        if match is None:
            raise InputError(f"{part!r} is not a link such as 3-4 or 3p4", path, number)
        label = SURE if match[2] == "-" else POSSIBLE
        links.append(Link(int(match[1]) - first, int(match[3]) - first, label))
    return links


def _linked(example: Example, links: list[Link], path: Path, number: int) -> Example:
    """The example with links, which must be between words that it has."""
    translation = example.translation
    assert translation is not None
    sizes = (len(example.words), len(translation.words))
    for link in links:
        if not (0 <= link.source < sizes[0] and 0 <= link.target < sizes[1]):
            raise InputError(
                f"a link from word {link.source} to word {link.target}, counted from 0, of texts "
                f"of {sizes[0]} and {sizes[1]} words",
                path,
                number,
            )
    return replace(example, alignment=tuple(links))
