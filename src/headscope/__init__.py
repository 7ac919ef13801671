"""headscope: what the attention heads of a transformer do, and how sure one can be of it.

>>> import headscope as hs
>>> model = hs.load("minilm")
>>> found = hs.scan(model, hs.read("tour", limit=24), only=["focus"])
"""

from importlib.metadata import version

from headscope.ablate import ablate
from headscope.analyses.patterns import classify
from headscope.compare import compare
from headscope.corpus import read
from headscope.errors import HeadscopeError
from headscope.finetune import finetune
from headscope.found import Found
from headscope.gates import gates
from headscope.importance import importance
from headscope.look import Look, look
from headscope.model import disable, load, remove, wrap
from headscope.passes import Options
from headscope.probe import probe
from headscope.prune import prune
from headscope.relevance import relevance
from headscope.study import scan
from headscope.tasks import task

__version__ = version("headscope")
__all__ = [
    "Found",
    "HeadscopeError",
    "Look",
    "Options",
    "__version__",
    "ablate",
    "classify",
    "compare",
    "disable",
    "finetune",
    "gates",
    "importance",
    "load",
    "look",
    "probe",
    "prune",
    "read",
    "relevance",
    "remove",
    "scan",
    "task",
    "wrap",
]
