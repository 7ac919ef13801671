"""A lazy package offers all its names and imports nothing heavy until one is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import headscope.model
from headscope._util.lazy import attach

LIGHT = """
import sys, types
package = types.ModuleType("headscope")  # without what headscope itself imports
package.__path__ = [sys.argv[1]]
sys.modules["headscope"] = package
import headscope.model
headscope.model.Top, headscope.model.Replacement, headscope.model.EPSILON
headscope.model.families()
print(*{"torch", "transformers", "numpy"} & set(sys.modules))
"""


def test_every_public_name_is_there() -> None:
    assert sorted(headscope.model._MODULES) == sorted(headscope.model.__all__)
    assert dir(headscope.model) == sorted(headscope.model.__all__)
    for name, module in headscope.model._MODULES.items():
        public = getattr(headscope.model, name)
        assert getattr(public, "__name__", name) == name
        assert getattr(public, "__module__", module).startswith(module)


def test_models_are_imported_when_they_are_needed() -> None:
    folder = Path(headscope.__file__).parent
    command = [sys.executable, "-c", LIGHT, str(folder)]
    imported = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert imported.split() == []


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    load_attribute, _ = attach("headscope.model", {})
    with pytest.raises(AttributeError, match=r"'headscope.model' has no attribute 'nothing'"):
        load_attribute("nothing")
    assert not hasattr(headscope.model, "nothing")
