"""The README's snippets run as they are printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.commands import run_headscope, run_python

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_python_snippet_runs(tmp_path: Path) -> None:
    (snippet,) = blocks(README, "python")
    done = run_python(snippet, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "look.html").exists()
    assert (tmp_path / "run" / "run.json").exists()


def test_make_targets_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in [*DOCS, ROOT / "CONTRIBUTING.md", ROOT / "RELEASING.md"]:
        for target in re.findall(r"`make ([a-z-]+)`", path.read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{path.name}: make {target}"


def commands() -> list[tuple[str, str]]:
    """Every command line that a document prints, with the document's name."""
    lines = []
    for path in DOCS:
        for block in blocks(path.read_text(encoding="utf-8"), "(?:sh|bash|console)?"):
            lines += [(path.name, line) for line in block.splitlines() if "headscope " in line[:12]]
    return lines


def test_verbs_and_options_that_are_named_exist(tmp_path: Path) -> None:
    """Options are looked up in the help of their verb."""
    shown: dict[str, str] = {}
    for name, line in commands():
        words = [word.strip("[]") for word in shlex.split(line.split("   ")[0], comments=True)]
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        if verb not in shown:
            done = run_headscope([verb, "--help"], tmp_path)
            assert done.returncode == 0, f"{name}: headscope {verb}"
            shown[verb] = done.stdout
        for option in re.findall(r"--[a-z-]+", line):
            assert option in shown[verb], f"{name}: headscope {verb} {option}"


def test_every_extra_is_listed() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in project["optional-dependencies"]:
        assert f"`{extra}`" in README, extra
