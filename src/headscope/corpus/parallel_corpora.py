"""Corpora of texts with their translations that are more than one file, or none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from headscope.corpus.corpus import Corpus
from headscope.corpus.example import Example
from headscope.corpus.files import digest
from headscope.corpus.readers.parallel import annotated, read_aligned
from headscope.corpus.readers.registry import readers
from headscope.errors import InputError


@dataclass(frozen=True)
class ParallelCorpus(Corpus):
    """Texts with their translations, from two files line by line or from one with both.

    Attributes:
        source_annotation, target_annotation: treebanks of the texts and of their translations.
    """

    source_annotation: Path | None = None
    target_annotation: Path | None = None

    def __iter__(self) -> Iterator[Example]:
        whole = read_aligned(self.paths) if len(self.paths) > 1 else self.reader.read(self.paths[0])
        if self.source_annotation is not None:
            whole = annotated(whole, self.source_annotation, translations=False)
        if self.target_annotation is not None:
            whole = annotated(whole, self.target_annotation, translations=True)
        return islice(self.selected(whole), self.limit)

    def describe(self) -> dict[str, Any]:
        """What identifies the data: the treebanks too."""
        trees = [path for path in (self.source_annotation, self.target_annotation) if path]
        plain = super().describe()
        plain["files"] += [path.name for path in trees]
        plain["sha256"] += [digest(path) for path in trees]
        return plain


@dataclass(frozen=True)
class PairsInMemory(Corpus):
    """Texts with their translations that are not in a file."""

    examples: tuple[Example, ...] = ()

    def __iter__(self) -> Iterator[Example]:
        return islice(self.selected(self.examples), self.limit)

    def describe(self) -> dict[str, Any]:
        """What identifies the data: all texts."""
        texts = [[one.text, one.translation and one.translation.text] for one in self.examples]
        sha256 = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
        return {
            "name": self.name,
            "reader": self.reader.name,
            "files": [],
            "sha256": [sha256],
            "limit": self.limit,
            "documents": self.documents,
        }


def parallel(pairs: Iterable[tuple[str, str]], name: str = "pairs") -> Corpus:
    """A corpus of texts with their translations that are at hand.

    >>> corpus = parallel([("Guten Tag.", "Good day."), ("Danke.", "Thank you.")])
    >>> next(iter(corpus)).translation.text
    'Good day.'
    """
    examples = []
    for number, (text, said) in enumerate(pairs, 1):
        if not text.strip() or not said.strip():
            raise InputError(f"pair {number}: a text or its translation is empty")
        examples.append(
            Example(str(number), text=text.strip(), translation=Example(str(number), text=said))
        )
    return PairsInMemory(name, (Path(name),), readers()["parallel"], examples=tuple(examples))
