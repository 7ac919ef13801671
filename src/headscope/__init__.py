"""headscope: what the attention heads of a transformer do, and how sure one can be of it.

>>> import headscope as hs
>>> model = hs.load("minilm")
>>> found = hs.scan(model, hs.read("tour", limit=24), only=["focus"])
"""

from importlib.metadata import version

from headscope.corpus import read
from headscope.errors import HeadscopeError
from headscope.found import Found
from headscope.look import Look, look
from headscope.model import load, wrap
from headscope.passes import Options
from headscope.study import scan

__version__ = version("headscope")
__all__ = [
    "Found",
    "HeadscopeError",
    "Look",
    "Options",
    "__version__",
    "load",
    "look",
    "read",
    "scan",
    "wrap",
]
