"""Corpora made of examples in memory, and files made of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from headscope.corpus import Corpus, Example, Link
from headscope.corpus.readers import Reader


def corpus_of(examples: list[Example], name: str = "made") -> Corpus:
    """A corpus that yields these examples."""

    def read(path: Path) -> Iterator[Example]:
        """Examples in memory."""
        return iter(examples)

    return replace(Corpus(name, (Path(__file__),), Reader("made", (), read)))


Aligned = tuple[str, str, tuple[tuple[int, int, str], ...]]
"""A text, its translation, and links between their words."""


def aligned_examples(rows: Sequence[Aligned]) -> list[Example]:
    """Texts with their translations, word by word."""
    return [
        Example(
            str(number),
            text=source,
            words=tuple(source.split()),
            translation=Example(str(number), text=target, words=tuple(target.split())),
            alignment=tuple(Link(*link) for link in links),
        )
        for number, (source, target, links) in enumerate(rows)
    ]
