"""Imports follow the way of the data: who may need whom is written down here and held."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

SPEC = find_spec("headscope")
assert SPEC is not None
assert SPEC.origin is not None
ROOT = Path(SPEC.origin).parent

FOLDERS: dict[str, set[str]] = {
    "_util": set(),
    "corpus": set(),
    "evidence": set(),
    "model": {"corpus"},
    "analyses": {"corpus", "model", "evidence"},
    "tasks": {"corpus", "model", "evidence"},
    "runs": {"evidence"},
    "experiments": {"corpus", "model", "evidence", "analyses", "tasks", "runs"},
    "report": {"runs", "evidence"},
    "explorer": {"corpus", "model", "tasks", "analyses", "runs", "report"},
    "cli": {"corpus", "model", "tasks", "analyses", "runs", "report"},
}
"""What each folder may import besides itself; `_util` and `errors` are for everybody."""
ROLES: dict[str, set[str]] = {
    "section.py": {"report", "runs", "evidence", "analyses", "experiments"},
    "command.py": {
        *("cli", "experiments", "corpus", "model", "tasks", "analyses"),
        *("evidence", "runs", "report", "explorer"),
    },
}
"""Files whose role has rules of its own, wherever they are."""
ROLES["joined_section.py"] = ROLES["section.py"]
FORBIDDEN = {
    "joined_section.py": ("compute", "torch", "transformers"),
    "section.py": ("compute", "torch", "transformers"),
    "tables.py": ("compute", "section", "torch", "transformers"),
    "compute.py": ("section", "command", "altair"),
}
"""What a file of a role never imports: other roles of an experiment's folder, and libraries."""
TOP = {"__init__.py", "__main__.py", "errors.py", "plugin.py", "testing.py"}
"""The modules at the top of the package."""
OPENS_THE_PAGE = {
    "runs/results.py": {"report"},
    "runs/head.py": {"report"},
    "experiments/look/__init__.py": {"report"},
    "experiments/explore/__init__.py": {"explorer"},
}
"""Results write their own page: the only imports against the way of the data, made when asked."""


def modules_imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, wherever in the file, type checking apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def folders_imported(path: Path) -> set[str]:
    names = (name.split(".") for name in modules_imported(path) if name.startswith("headscope."))
    folders = {parts[1] for parts in names}
    return folders & FOLDERS.keys()


def all_files() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT)


def test_every_folder_has_its_place() -> None:
    assert {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()} == set(FOLDERS)


def test_few_modules_stand_at_the_top() -> None:
    assert {path.name for path in ROOT.glob("*.py")} <= TOP


@pytest.mark.parametrize("path", all_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_data_moves_one_way(path: Path) -> None:
    place = str(path.relative_to(ROOT))
    folder = place.split("/", maxsplit=1)[0]
    allowed = ROLES.get(path.name, FOLDERS[folder]) | OPENS_THE_PAGE.get(place, set())
    extra = folders_imported(path) - allowed - {folder, "_util"}
    assert not extra, f"{place} imports {extra}"


@pytest.mark.parametrize("path", all_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_keep_to_their_role(path: Path) -> None:
    if path.name not in FORBIDDEN:
        return
    for name in modules_imported(path):
        parts = name.split(".")
        own = parts[0] == "headscope" and parts[1] in ("experiments", "analyses")
        role = parts[-1] if own else parts[0]
        assert role not in FORBIDDEN[path.name] or (own and len(parts) < 3), (
            f"{path} imports {name}"
        )
        if own and path.name.endswith("section.py"):
            assert "compute" not in parts, f"{path} imports {name}"


@pytest.mark.parametrize("folder", ["report", "runs", "cli"])
def test_nothing_generic_is_named_after_an_experiment_or_analysis(folder: str) -> None:
    experiments = {path.name for path in (ROOT / "experiments").iterdir() if path.is_dir()}
    analyses = {path.stem for path in (ROOT / "analyses").glob("[a-z]*.py")} - {"base"}
    names = {path.stem for path in (ROOT / folder).rglob("*.py")}
    assert not names & (experiments | analyses)


def test_files_stay_small() -> None:
    for path in ROOT.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").count("\n")
        assert lines <= 330, f"{path.relative_to(ROOT)} has {lines} lines"


def test_the_formatter_is_trusted() -> None:
    skips = sum(path.read_text(encoding="utf-8").count("fmt: skip") for path in ROOT.rglob("*.py"))
    assert skips < 20
