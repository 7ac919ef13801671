"""headscope: what the attention heads of a transformer do, and how sure one can be of it.

>>> import headscope as hs
>>> model = hs.load("minilm")
>>> found = hs.scan(model, hs.read("tour", limit=24), only=["focus"])
"""

from importlib.metadata import version

from headscope.analyses._shapes.classifier import classify
from headscope.corpus import read
from headscope.errors import HeadscopeError
from headscope.experiments.ablation import ablate
from headscope.experiments.compare import compare
from headscope.experiments.finetuning import finetune
from headscope.experiments.gates import gates
from headscope.experiments.importance import importance
from headscope.experiments.look import Look, look
from headscope.experiments.probe import probe
from headscope.experiments.pruning import prune
from headscope.experiments.relevance import relevance
from headscope.experiments.scan import scan
from headscope.experiments.scan.passes import Options
from headscope.model import disable, load, remove, wrap
from headscope.runs.found import Found
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
