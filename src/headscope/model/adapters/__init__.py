"""One small file per family of architectures: everything that depends on it, and nothing else."""

from importlib import import_module
from pkgutil import iter_modules

from headscope.model.adapters.base import Adapter, Route, families, family_of

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["Adapter", "Route", "families", "family_of"]
