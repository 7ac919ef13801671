"""The page's script and style are those that the sources give."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "name", ["report.js", "explorer.js", "report.css", "widget.js", "widget.css"]
)
def test_what_is_built_is_up_to_date(name: str) -> None:
    sha = hashlib.sha256()
    for folder in ("src", "fonts"):
        for path in sorted((ROOT / "frontend" / folder).iterdir()):
            if path.is_file():
                sha.update(path.name.encode() + path.read_bytes())
    built = ROOT / "src" / "headscope" / "report" / "static" / name
    first = built.read_text(encoding="utf-8").partition("*/")[0]
    assert sha.hexdigest() in first, "the sources have changed: make frontend"
