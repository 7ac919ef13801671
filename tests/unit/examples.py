"""Corpora made of examples in memory, and files made of text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from headscope.corpus import Corpus, Example
from headscope.corpus.readers import Reader


def corpus_of(examples: list[Example], name: str = "made") -> Corpus:
    """A corpus that yields these examples."""

    def read(path: Path) -> Iterator[Example]:
        """Examples in memory."""
        return iter(examples)

    return replace(Corpus(name, (Path(__file__),), Reader("made", (), read)))
