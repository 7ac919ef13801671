"""Imports follow the way of the data: who may need whom is written down here and held."""

from __future__ import annotations

import ast
from pathlib import Path

import headscope

ROOT = Path(headscope.__file__).parent
MAY: dict[str, set[str]] = {
    "corpus": set(),
    "evidence": set(),
    "model": {"corpus"},
    "analyses": {"corpus", "model", "evidence"},
    "tasks": {"corpus", "model", "evidence"},
    "experiments": {"corpus", "model", "evidence", "tasks"},
    "runs": {"evidence"},
    "report": {"runs", "evidence"},
}
EVERYBODY = {"atomic", "errors", "interrupt", "naming", "progress"}


def imported(path: Path) -> set[str]:
    """The parts of headscope that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            deep = node.module == "headscope"
            names = [f"headscope.{a.name}" for a in node.names] if deep else [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("headscope.")}
    return found


def test_data_moves_one_way() -> None:
    parts = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert parts == set(MAY)
    for part, allowed in MAY.items():
        for path in (ROOT / part).rglob("*.py"):
            extra = imported(path) - allowed - EVERYBODY - {part}
            assert not extra, f"{path.relative_to(ROOT)} imports {extra}"


def test_files_stay_small() -> None:
    for path in ROOT.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").count("\n")
        assert lines <= 340, f"{path.relative_to(ROOT)} has {lines} lines"
