"""Fixtures that every layer of the tests shares; torch is imported only where a test needs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headscope.model import Model

collect_ignore = [
    "plugins",  # a package of its own: importing it would register its analysis
    "preloaded.py",  # importing it takes seconds, and is for the commands alone
]


def pytest_collection_finish() -> None:
    """One thread for torch, if the tests import it: two test processes share two cores."""
    if "torch" in sys.modules:
        _one_thread()


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
