"""The data of a reproduction: what the user gave, else what lies in the data folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headscope.corpus import Corpus, read
from headscope.errors import HeadscopeError
from headscope.experiments.reproduce.paper import Paper

FOLDER = "HEADSCOPE_DATA"
"""Names the data folder in the environment."""


class CannotReproduceError(Exception):
    """Why a recipe cannot be followed, in words that fit behind "because"."""


@dataclass(frozen=True)
class Inputs:
    """Where the inputs of a paper are.

    Attributes:
        given: by the user, a path or `READER:PATH`.
        limit: at most so many texts of each.
    """

    paper: Paper
    folder: Path | None
    given: Mapping[str, str]
    limit: int | None = None

    @classmethod
    def of(
        cls,
        paper: Paper,
        folder: str | Path | None,
        given: Mapping[str, str | Path],
        limit: int | None,
    ) -> Inputs:
        """Check the names of what is given; without a folder, that of the environment counts."""
        for name in given:
            if name not in paper.inputs:
                there = ", ".join(f"{key} ({one.about})" for key, one in paper.inputs.items())
                raise HeadscopeError(f"{paper.key} has no input {name!r}; it takes {there}")
        home = folder or os.environ.get(FOLDER)
        named = {name: str(path) for name, path in given.items()}
        return cls(paper, Path(home) if home else None, named, limit)

    def source(self, name: str) -> str:
        """Path of an input, with its reader; `CannotReproduceError` where there is none."""
        if name in self.given:
            return self.given[name]
        wanted = self.paper.inputs[name]
        reader, colon, path = wanted.default.rpartition(":")
        if self.folder is not None and path and (self.folder / path).exists():
            return f"{reader}{colon}{self.folder / path}"
        raise CannotReproduceError(f"{wanted.about} is not here (--input {name}=...)")

    def corpus(self, name: str) -> Corpus:
        """An input as a corpus."""
        documents = "" if name in self.given else self.paper.inputs[name].documents
        return read(self.source(name), limit=self.limit, documents=documents or None)

    def is_the_papers(self, name: str) -> bool:
        """Whether an input is the very data that the authors used."""
        return name not in self.given and self.paper.inputs[name].same

    def describe(self) -> dict[str, str]:
        """What identifies the inputs: the names of what was given, and of what is there."""
        described = {}
        for name in self.paper.inputs:
            try:
                described[name] = Path(self.source(name)).name
            except CannotReproduceError:
                described[name] = ""
        return described
