"""A reader of poems: an empty line ends a poem, every line is a text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headscope.plugin import Example, reader


@reader("verses", ".verses")
def read_verses(path: Path) -> Iterator[Example]:
    """Poems: a verse a line, an empty line between poems; poems are the documents."""
    poem = 1
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            yield Example(f"line-{number}", document=f"poem-{poem}", text=line.strip())
        else:
            poem += 1
