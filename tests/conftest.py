"""Fixtures that every layer of the tests shares; torch is imported only where a test needs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headscope.model import Model

collect_ignore = ["plugins"]  # a package of its own: importing it would register its analysis


def pytest_collection_finish() -> None:
    """One thread for torch, if the tests import it: two test processes share two cores."""
    if "torch" in sys.modules:
        _one_thread()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module run in one process, so that it is made once."""
    for item in items:
        fixtures = getattr(item, "_fixtureinfo", None)
        shared = [
            name
            for name, made in (fixtures.name2fixturedefs if fixtures else {}).items()
            if made[-1].scope == "module"
        ]
        if shared and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(f"{item.path.stem} {shared[0]}"))


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def minilm() -> Model:
    import headscope as hs

    _one_thread()
    return hs.load("minilm")


@pytest.fixture(scope="session")
def data() -> Path:
    if "HEADSCOPE_DATA" not in os.environ:
        pytest.skip("real corpora: HEADSCOPE_DATA is not set")
    return Path(os.environ["HEADSCOPE_DATA"])


@pytest.fixture(scope="session")
def models() -> Path:
    if "HEADSCOPE_MODELS" not in os.environ:
        pytest.skip("real models beyond MiniLM: HEADSCOPE_MODELS is not set")
    return Path(os.environ["HEADSCOPE_MODELS"])
