"""What is installed, which models and data are at hand: the first thing to ask for in a report."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from headscope.analyses import analyses
from headscope.corpus import read
from headscope.corpus.readers import readers
from headscope.errors import HeadscopeError
from headscope.model import bundled
from headscope.model.adapters import families

PACKAGES = (
    "headscope",
    "torch",
    "transformers",
    "safetensors",
    "numpy",
    "scipy",
    "pyarrow",
)
EXTRAS = ("pandas", "polars", "wordfreq")


def examine() -> dict[str, str | list[str]]:
    """What a developer would ask a user who reports a problem.

    >>> "headscope" in examine()["packages"][0]
    True
    """
    return {
        "python": f"{platform.python_version()} on {platform.platform()}",
        "packages": [_installed(name) for name in PACKAGES],
        "extras": [_installed(name) for name in EXTRAS],
        "devices": [f"cpu ({torch.get_num_threads()} threads)", *_accelerators()],
        "bundled model": _bundled(),
        "models": _folder("HEADSCOPE_MODELS"),
        "data": _folder("HEADSCOPE_DATA"),
        "tour": f"{sum(1 for _ in read('tour'))} sentences",
        "families": list(families()),
        "readers": list(readers()),
        "analyses": list(analyses()),
    }


def _installed(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} (not installed)"


def _accelerators() -> list[str]:
    found = [f"cuda:{n} {torch.cuda.get_device_name(n)}" for n in range(torch.cuda.device_count())]
    return found + (["mps"] if torch.backends.mps.is_available() else [])


def _bundled() -> str:
    try:
        bundled.folder()
    except HeadscopeError as error:
        return str(error)
    return f"{bundled.NAME}: there, its sha256 is right"


def _folder(variable: str) -> str | list[str]:
    place = os.environ.get(variable)
    if not place:
        return f"{variable} is not set"
    if not Path(place).is_dir():
        return f"{variable} is set to a folder that does not exist"
    return sorted(path.name for path in Path(place).iterdir() if not path.name.startswith("."))
