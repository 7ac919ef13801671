"""Adapters: one small file per family of architectures, and all that headscope knows of it.

A file of this package that assigns an `Adapter` to a name is found automatically. Other
packages call `register`.
"""

from headscope.model.adapters.base import Adapter, Route, families, family_of, register

__all__ = ["Adapter", "Route", "families", "family_of", "register"]
