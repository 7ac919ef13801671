"""FrameNet: annotated sentences as JSON lines, or the corpus of nltk as the user has it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headscope.corpus.example import Example, Frame
from headscope.corpus.files import lines
from headscope.corpus.readers.registry import reader
from headscope.errors import HeadscopeError, InputError

Span = tuple[int, int]
"""Characters of a text, the end not included."""
Annotated = tuple[str, list[Span], list[tuple[str, Span]]]
"""A frame: its name, the spans of its target, its core elements with their spans."""


@reader("framenet")
def read_framenet(path: Path) -> Iterator[Example]:
    """FrameNet as JSON lines: `text` with `frame`, `target`, `fe`, or with a list `frames`.

    Spans are characters, both ends included, as FrameNet has them; of an element only the core
    ones are taken. `sentence` with `target` and `core_fes` as strings is read too (the 473
    sentences of Kovaleva et al.).
    """
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            yield (
                _from_strings(record, number)
                if "core_fes" in record
                else _from_spans(record, number)
            )
        except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
            found = f"not a FrameNet sentence ({type(error).__name__}: {error})"
            raise InputError(found, path, number) from None


@reader("nltk-framenet")
def read_nltk(path: Path) -> Iterator[Example]:
    """FrameNet as nltk has it: the folder `framenet_v17` (lexicographic examples)."""
    try:
        import nltk
        from nltk.corpus.reader.framenet import FramenetCorpusReader
    except ImportError:
        how = "pip install 'headscope[framenet]'"
        raise HeadscopeError(f"FrameNet's own files are read by nltk: {how}") from None
    if not (path / "frameIndex.xml").exists():
        raise InputError("no frameIndex.xml in it; give the folder framenet_v17", path)
    place = str(path.resolve())
    if place not in nltk.data.path:  # nltk reads only where it was told that data are
        nltk.data.path.append(place)
    for sentence in FramenetCorpusReader(place, []).exemplars():
        known = sentence.get("frameAnnotation")
        if known is None or "Target" not in known:
            continue
        core = {name for name, fe in sentence.frame.FE.items() if fe.coreType == "Core"}
        elements = [(name, (start, end)) for start, end, name in known.FE[0] if name in core]
        frame: Annotated = (sentence.frame.name, list(known.Target), elements)
        yield _example(str(sentence.ID), sentence.text, [frame])


def _from_spans(record: dict[str, Any], number: int) -> Example:
    """FrameNet's own spans, which include their last character."""
    sets = record.get("frames", [record])
    frames = [
        (
            str(one["frame"]),
            [(int(start), int(end) + 1) for start, end in one["target"]],
            [
                (str(name), (int(start), int(end) + 1))
                for name, start, end, kind in one["fe"]
                if kind == "Core"
            ],
        )
        for one in sets
    ]
    return _example(str(record.get("sid", number)), record["text"], frames, record.get("doc"))


def _from_strings(record: dict[str, Any], number: int) -> Example:
    """Targets and elements as strings: where FrameNet 1.5 knows the spans, by these."""
    text = record["sentence"]
    known = [one for one in record.get("fn15", ()) if len(one["target"]) == 1]
    targets = [(one["target"][0][0], one["target"][0][1] + 1) for one in known]
    target = targets[0] if targets else _find(text, record["target"])
    elements = []
    for name in record["core_fes"]:
        spans = [
            (start, end + 1) for one in known for _, start, end, _ in one["fe"]
            if text[start : end + 1] == name
        ]  # fmt: skip
        elements.append(("Core", spans[0] if spans else _find(text, name)))
    label = known[0]["frame"] if known else "unknown"
    return _example(str(number), text, [(label, [target], elements)])


def _find(text: str, words: str) -> Span:
    """The first place where the words stand as whole words."""
    found = re.search(rf"(?<!\S){re.escape(words)}(?!\S)", text)
    if found is None:
        raise ValueError(f"{words!r} is not in the sentence")
    return found.span()


def _example(
    name: str, text: str, frames: Iterable[Annotated], document: str | None = None
) -> Example:
    """Words between blanks; only frames with one target are kept."""
    matches = list(re.finditer(r"\S+", text))

    def words(span: Span) -> Span:
        inside = [n for n, m in enumerate(matches) if m.start() < span[1] and m.end() > span[0]]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    kept = []
    for frame, targets, elements in frames:
        placed = [(label, *words(span)) for label, span in elements]
        placed = [one for one in placed if one[1] < one[2]]
        where = {words(span) for span in targets}
        if len(where) == 1 and placed:
            start, end = where.pop()
            if end > start and all(not a <= start < b for _, a, b in placed):
                kept.append(Frame(frame, start, tuple(placed)))
    return Example(
        name,
        words=tuple(match[0] for match in matches) or (text,),
        document=document,
        frames=tuple(kept),
    )
