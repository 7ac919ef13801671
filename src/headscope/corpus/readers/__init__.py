"""Readers: each turns one file into examples and registers itself by name and extension."""

from importlib import import_module
from pkgutil import iter_modules

from headscope.corpus.readers.registry import Reader, reader, reader_for, readers

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["Reader", "reader", "reader_for", "readers"]
