"""Plug-ins: what other packages bring, found by their entry points."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from headscope.errors import HeadscopeError

GROUPS = ("analyses", "readers", "adapters", "tasks", "experiments")
"""Entry-point groups, each `headscope.GROUP`."""
_failures: list[str] = []


@cache
def load_plugins(group: str) -> tuple[object, ...]:
    """Import everything that other packages declare in a group, once.

    Importing it registers it. What fails to import is left out and reported in one line (see
    `plugin_failures`).

    Args:
        group: one of `GROUPS`.
    """
    loaded = []
    for point in entry_points(group=f"headscope.{group}"):
        try:
            loaded.append(point.load())
        except Exception as error:  # a stranger's code may raise anything, and must not break ours
            _note_failure(f"plug-in {point.name!r} ({point.value})", error)
    return tuple(loaded)


def _note_failure(what: str, error: Exception) -> None:
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    _failures.append(f"{what} was left out: {reason}")


def plugin_failures() -> list[str]:
    """One line for each plug-in that failed to import so far."""
    return list(_failures)


def register(registry: dict[str, object], kind: str, name: str, value: object) -> None:
    """Add something to a registry; a name that is taken is an error.

    >>> register({"focus": 1}, "analysis", "focus", 2)
    Traceback (most recent call last):
    headscope.errors.HeadscopeError: there is already an analysis called 'focus'
    """
    if name in registry:
        article = "an" if kind[0] in "aeiou" else "a"
        raise HeadscopeError(f"there is already {article} {kind} called {name!r}")
    registry[name] = value


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint at the nearest name, or nothing.

    >>> did_you_mean("focsu", ["focus", "frames"])
    "; did you mean 'focus'?"
    """
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def registered_analyses() -> dict[str, Any]:
    """All analysis classes by name, for who loops over them without knowing any."""
    analyses: dict[str, Any] = import_module("headscope.analyses").analyses()
    return analyses


@cache
def experiment_packages() -> tuple[str, ...]:
    """The packages of all experiments: those in `headscope.experiments`, then plug-ins.

    >>> "headscope.experiments.ablation" in experiment_packages()
    True
    """
    package = import_module("headscope.experiments")
    names = [
        f"{package.__name__}.{module.name}"
        for module in iter_modules(package.__path__)
        if module.ispkg and not module.name.startswith("_")
    ]
    plugins = (plugin for plugin in load_plugins("experiments") if isinstance(plugin, ModuleType))
    return (*names, *(plugin.__name__ for plugin in plugins))


@cache
def load_experiment_modules(name: str) -> None:
    """Import one module of every experiment that has it; importing it registers what it brings.

    What fails to import is left out and reported in one line (see `plugin_failures`).

    Args:
        name: `command`, for the verbs of the command line.
    """
    for package in experiment_packages():
        try:
            if find_spec(f"{package}.{name}") is not None:
                import_module(f"{package}.{name}")
        except Exception as error:
            _note_failure(f"{package}.{name}", error)
