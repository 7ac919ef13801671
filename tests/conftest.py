"""Fixtures that every layer of the tests shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import headscope as hs
from headscope.model import Model

torch.set_num_threads(1)  # two test processes share two cores


@pytest.fixture(scope="session")
def minilm() -> Model:
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
