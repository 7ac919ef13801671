"""A lazy package offers all its names and imports nothing heavy until one is used."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

import headscope.corpus
import headscope.evidence
import headscope.model
from headscope._util.lazy import attach

BARE = """
import sys, types
package = types.ModuleType("headscope")  # without what headscope itself imports
package.__path__ = [sys.argv[1]]
sys.modules["headscope"] = package
"""
LIGHT = (
    BARE
    + """
import headscope.model
headscope.model.Top, headscope.model.Replacement, headscope.model.EPSILON
headscope.model.families()
print(*{"torch", "transformers", "numpy"} & set(sys.modules))
"""
)


@pytest.mark.parametrize(
    "package", [headscope.corpus, headscope.evidence, headscope.model], ids=lambda p: p.__name__
)
def test_every_public_name_is_there(package: Any) -> None:
    assert sorted(package._MODULES) == sorted(package.__all__)
    assert dir(package) == sorted(package.__all__)
    for name, module in package._MODULES.items():
        public = getattr(package, name)
        if isinstance(public, type | FunctionType):  # not a constant
            assert public.__name__ == name
            assert public.__module__.startswith(module)


HEAVY = {"torch", "transformers", "pyarrow", "altair", "scipy.stats", "sklearn", "numba"}
AFTER = """
import sys
try:
    {code}
finally:
    print("loaded", *{heavy!r} & set(sys.modules))
"""
COMMAND = "import headscope.cli.main; sys.argv = {words!r}; headscope.cli.main.main()"


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["scan", "--help"],
        ["scan", "--list"],
        ["compare", "--help"],
        ["prune", "--help"],
        ["finetune", "--help"],
        ["probe", "--help"],
        ["scn"],
        ["scan", "minilm", "tour", "-o", "run", "--only", ""],
        ["finetune", "minilm", "glue/mrpc", "-o", "run", "--seeds", "x"],
    ],
    ids=" ".join,
)
def test_help_and_usage_errors_import_nothing_heavy(words: list[str]) -> None:
    assert heavy_after(COMMAND.format(words=["headscope", *words])) == []


def test_importing_headscope_and_naming_a_task_imports_nothing_heavy() -> None:
    assert heavy_after("import headscope") == []
    assert heavy_after("import headscope; headscope.task('tour'); headscope.read('tour')") == []
    assert heavy_after("import headscope.analyses; headscope.analyses.analyses()") == []


def heavy_after(code: str) -> list[str]:
    """The heavy packages that are imported once some code has run in a process of its own."""
    program = AFTER.format(code=code, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    _, *loaded = done.stdout.strip().splitlines()[-1].split()
    return loaded


def test_models_are_imported_when_they_are_needed() -> None:
    folder = Path(headscope.__file__).parent
    command = [sys.executable, "-c", LIGHT, str(folder)]
    imported = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert imported.split() == []


CORPUS = (
    BARE
    + """
import headscope.corpus, headscope.corpus.readers
headscope.corpus.read("tour"), headscope.corpus.readers.readers()
print(*set(sys.argv[2:]) & set(sys.modules))
"""
)
EVIDENCE = (
    BARE
    + """
from importlib import import_module
for module in sys.argv[2:]:
    import_module(f"headscope.evidence.{module}")
print(*{"torch", "scipy", "sklearn", "numba"} & set(sys.modules))
"""
)


def run_bare(script: str, *arguments: str) -> list[str]:
    """The words that a script prints in a process of its own."""
    folder = str(Path(headscope.corpus.__file__).parent.parent)
    command = [sys.executable, "-c", script, folder, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_a_corpus_is_opened_without_heavy_imports() -> None:
    heavy = ("torch", "transformers", "pandas", "nltk", "scipy", "sklearn", "pyarrow")
    assert run_bare(CORPUS, *heavy) == []


def test_statistics_are_imported_without_heavy_imports() -> None:
    folder = Path(headscope.evidence.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "tally", "compiled"}
    assert run_bare(EVIDENCE, *sorted(modules)) == []


@pytest.mark.parametrize("package", [headscope, headscope.model, headscope.corpus])
def test_no_public_name_is_that_of_a_module(package: ModuleType) -> None:
    """The import of such a module would put it in the place of what the name stands for."""
    modules = {info.name for info in pkgutil.iter_modules(package.__path__)}
    shared = modules & set(package.__all__)
    assert all(isinstance(getattr(package, name), ModuleType) for name in shared)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    load_attribute, _ = attach("headscope.model", {})
    with pytest.raises(AttributeError, match=r"'headscope.model' has no attribute 'nothing'"):
        load_attribute("nothing")
    assert not hasattr(headscope.model, "nothing")
