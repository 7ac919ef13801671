"""FrameNet: annotated sentences as JSON lines, or FrameNet's own files, read by nltk."""

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

CharSpan = tuple[int, int]
"""Character offsets, the end exclusive."""
WordSpan = tuple[int, int]
"""Word positions, the end exclusive."""
CharFrame = tuple[str, list[CharSpan], list[tuple[str, CharSpan]]]
"""A frame: its name, the spans of its target, and its core elements with their spans."""


@reader("framenet")
def read_framenet(path: Path) -> Iterator[Example]:
    """FrameNet as JSON lines: `text` with `frame`, `target`, `fe`, or with a list `frames`.

    Spans are character offsets, both ends inclusive, as in FrameNet; only core elements are kept.
    The format of the 473 sentences of Kovaleva et al. is read too: `sentence`, with `target` and
    `core_fes` as strings.
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
            message = f"not a FrameNet sentence ({type(error).__name__}: {error})"
            raise InputError(message, path, number) from None


@reader("nltk-framenet")
def read_nltk(path: Path) -> Iterator[Example]:
    """FrameNet's own files, as nltk downloads them: the folder `framenet_v17` (exemplars)."""
    try:
        import nltk
        from nltk.corpus.reader.framenet import FramenetCorpusReader
    except ImportError:
        raise HeadscopeError(
            "FrameNet's own files need the package nltk: pip install 'headscope[framenet]'"
        ) from None
    if not (path / "frameIndex.xml").exists():
        raise InputError("no frameIndex.xml in this folder; name the folder framenet_v17", path)
    folder = str(path.resolve())
    if folder not in nltk.data.path:  # nltk reads only from its data path
        nltk.data.path.append(folder)
    for sentence in FramenetCorpusReader(folder, []).exemplars():
        annotation = sentence.get("frameAnnotation")
        if annotation is None or "Target" not in annotation:
            continue
        core = {name for name, fe in sentence.frame.FE.items() if fe.coreType == "Core"}
        elements = [(name, (start, end)) for start, end, name in annotation.FE[0] if name in core]
        frame: CharFrame = (sentence.frame.name, list(annotation.Target), elements)
        yield _example(str(sentence.ID), sentence.text, [frame])


def _from_spans(record: dict[str, Any], number: int) -> Example:
    """An example from FrameNet's own spans, which include their last character."""
    frames = [
        (
            str(annotation["frame"]),
            [(int(start), int(end) + 1) for start, end in annotation["target"]],
            [
                (str(name), (int(start), int(end) + 1))
                for name, start, end, kind in annotation["fe"]
                if kind == "Core"
            ],
        )
        for annotation in record.get("frames", [record])
    ]
    return _example(str(record.get("sid", number)), record["text"], frames, record.get("doc"))


def _from_strings(record: dict[str, Any], number: int) -> Example:
    """An example from target and elements as strings, located by FrameNet 1.5 where possible."""
    text = record["sentence"]
    annotations = [entry for entry in record.get("fn15", ()) if len(entry["target"]) == 1]
    if annotations:
        start, last = annotations[0]["target"][0]
        target = (start, last + 1)
    else:
        target = _find(text, record["target"])
    spans = [(start, last + 1) for entry in annotations for _, start, last, _ in entry["fe"]]
    elements = []
    for name in record["core_fes"]:
        matching = [span for span in spans if text[slice(*span)] == name]
        elements.append(("Core", matching[0] if matching else _find(text, name)))
    label = annotations[0]["frame"] if annotations else "unknown"
    return _example(str(number), text, [(label, [target], elements)])


def _find(text: str, words: str) -> CharSpan:
    """The first occurrence of the words as whole words."""
    match = re.search(rf"(?<!\S){re.escape(words)}(?!\S)", text)
    if match is None:
        raise ValueError(f"{words!r} is not in the sentence")
    return match.span()


def _example(
    name: str, text: str, frames: Iterable[CharFrame], document: str | None = None
) -> Example:
    """Split the text at white space, and keep the frames that have a single target."""
    matches = list(re.finditer(r"\S+", text))

    def words(span: CharSpan) -> WordSpan:
        inside = [n for n, m in enumerate(matches) if m.start() < span[1] and m.end() > span[0]]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    kept = []
    for frame, targets, elements in frames:
        placed = [(label, *words(span)) for label, span in elements]
        placed = [element for element in placed if element[1] < element[2]]
        target_words = {words(span) for span in targets}
        if len(target_words) == 1 and placed:
            start, end = target_words.pop()
            if end > start and all(not a <= start < b for _, a, b in placed):
                kept.append(Frame(frame, start, tuple(placed)))
    return Example(
        name,
        words=tuple(match[0] for match in matches) or (text,),
        document=document,
        frames=tuple(kept),
    )
