"""What is installed, which models and data are at hand: the first thing to ask for in a report."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, entry_points, requires, version
from pathlib import Path

from headscope._util.plugins import (
    GROUPS,
    experiment_packages,
    load_experiment_modules,
    load_plugins,
    plugin_failures,
)
from headscope.errors import HeadscopeError

DEVELOPMENT = "dev"
"""The extra of those who work on headscope itself."""


def examine() -> dict[str, str | list[str]]:
    """What a developer would ask a user who reports a problem.

    >>> "headscope" in examine()["packages"][0]
    True
    """
    from headscope.analyses import analyses
    from headscope.corpus import read
    from headscope.corpus.readers import readers
    from headscope.model import families
    from headscope.tasks import task_kinds

    required, extras = _requirements()
    findings: dict[str, str | list[str]] = {
        "python": f"{platform.python_version()} on {platform.platform()}",
        "packages": [_installed(name) for name in ("headscope", *required)],
        "extras": [
            f"{extra}: {', '.join(map(_installed, names))}" for extra, names in extras.items()
        ],
        "devices": _devices(),
        "bundled model": _bundled(),
        "models": _folder("HEADSCOPE_MODELS"),
        "data": _folder("HEADSCOPE_DATA"),
        "tour": f"{sum(1 for _ in read('tour'))} sentences",
        "families": list(families()),
        "readers": list(readers()),
        "analyses": list(analyses()),
        "tasks": [kind.form for kind in task_kinds().values()],
        "experiments": [package.rpartition(".")[2] for package in experiment_packages()],
    }
    return findings | {"plug-ins": _plugins()}


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """The packages that headscope needs, and those of each extra, by its own metadata."""
    required: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in requires("headscope") or []:
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if extra is None:
            required.append(name)
        elif extra[1] != DEVELOPMENT:
            extras.setdefault(extra[1], []).append(name)
    return required, extras


def _installed(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} (not installed)"


def _devices() -> list[str]:
    import torch

    count = torch.cuda.device_count()
    devices = [f"cuda:{number} {torch.cuda.get_device_name(number)}" for number in range(count)]
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return [f"cpu ({torch.get_num_threads()} threads)", *devices, *mps]


def _bundled() -> str:
    from headscope.model import bundled

    try:
        bundled.folder()
    except HeadscopeError as error:
        return str(error)
    return f"{bundled.NAME}: installed, its sha256 is right"


def _plugins() -> list[str]:
    """The plug-ins of other packages, then those that failed to load and why."""
    for group in GROUPS:
        load_plugins(group)
    load_experiment_modules("command")
    points = [
        f"{point.name} ({group}: {point.value})"
        for group in GROUPS
        for point in entry_points(group=f"headscope.{group}")
    ]
    return [*points, *plugin_failures()] or ["none"]


def _folder(variable: str) -> str | list[str]:
    place = os.environ.get(variable)
    if not place:
        return f"{variable} is not set"
    if not Path(place).is_dir():
        return f"{variable} is set to a folder that does not exist"
    return sorted(path.name for path in Path(place).iterdir() if not path.name.startswith("."))
