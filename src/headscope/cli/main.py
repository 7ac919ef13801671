"""The program `headscope`: the verbs of all experiments, and those that are about runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headscope._util.plugins import load_experiment_modules, plugin_failures
from headscope.cli.app import make_app
from headscope.cli.errors import warn

if TYPE_CHECKING:
    import typer


def load_app(typed: str | None = None) -> typer.Typer:
    """The program with the verbs of all experiments.

    Args:
        typed: see `make_app`.
    """
    from headscope.cli import run_verbs  # noqa: F401  # registers roles, report, doctor, version

    load_experiment_modules("command")
    return make_app(typed)


def main() -> None:
    """Run the command line."""
    words = (word for word in sys.argv[1:] if not word.startswith("-"))
    app = load_app(next(words, ""))
    for failure in plugin_failures():
        warn(failure)
    app(prog_name="headscope")
