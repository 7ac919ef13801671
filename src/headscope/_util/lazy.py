"""Lazy packages: a public name is imported from its module when it is first used (PEP 562).

A package that lists its public names this way costs nothing to import, so that `--help` does not
wait for torch. Type checkers see the names through imports under `if TYPE_CHECKING:`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(
    package_name: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Build the `__getattr__` and `__dir__` of a package whose public names are imported lazily.

    Args:
        package_name: `__name__` of the package.
        modules: for each public name, the full name of the module that defines it.

    Returns:
        The functions to assign to `__getattr__` and `__dir__` in the package.

    >>> __getattr__, __dir__ = attach("headscope._util", {"sqrt": "math", "tau": "math"})
    >>> __getattr__("sqrt")(9.0), __dir__()
    (3.0, ['sqrt', 'tau'])
    """

    def load_attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package_name!r} has no attribute {name!r}")
        attribute = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package_name], name, attribute)  # the next access is a plain lookup
        return attribute

    def list_attributes() -> list[str]:
        return sorted(modules)

    return load_attribute, list_attributes
