"""What is computed from attention as it streams by: one file, one class, one idea each.

A new file here that registers an analysis is found by itself; nothing else has to change.
"""

from importlib import import_module
from pkgutil import iter_modules

from headscope.analyses.base import (
    Analysis,
    Inputs,
    Needs,
    Scene,
    about,
    analyses,
    choose,
    described,
)

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}")

__all__ = ["Analysis", "Inputs", "Needs", "Scene", "about", "analyses", "choose", "described"]
