"""headscope: what the attention heads of a transformer do, and how sure one can be of it.

>>> import headscope as hs
>>> model = hs.load("minilm")
>>> results = hs.scan(model, hs.read("tour", limit=24), only=["focus"])

Nothing is imported before it is used: `import headscope` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from headscope.analyses._shapes.classifier import classify
    from headscope.corpus import parallel, read
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
    from headscope.experiments.reproduce import reproduce
    from headscope.experiments.scan import scan
    from headscope.experiments.scan.settings import Settings
    from headscope.model import disable, load, remove, wrap
    from headscope.runs import RunResults
    from headscope.runs import open_run as open
    from headscope.tasks import task

_MODULES = {
    "HeadscopeError": "errors",
    "Look": "experiments.look",
    "RunResults": "runs",
    "Settings": "experiments.scan.settings",
    "ablate": "experiments.ablation",
    "classify": "analyses._shapes.classifier",
    "compare": "experiments.compare",
    "disable": "model",
    "finetune": "experiments.finetuning",
    "gates": "experiments.gates",
    "importance": "experiments.importance",
    "load": "model",
    "look": "experiments.look",
    "open": "runs",
    "parallel": "corpus",
    "probe": "experiments.probe",
    "prune": "experiments.pruning",
    "read": "corpus",
    "relevance": "experiments.relevance",
    "remove": "model",
    "reproduce": "experiments.reproduce",
    "scan": "experiments.scan",
    "task": "tasks",
    "wrap": "model",
}
"""The module of each public name."""
__all__ = [
    "HeadscopeError",
    "Look",
    "RunResults",
    "Settings",
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
    "open",
    "parallel",
    "probe",
    "prune",
    "read",
    "relevance",
    "remove",
    "reproduce",
    "scan",
    "task",
    "wrap",
]


if not TYPE_CHECKING:  # a type checker must not accept every name

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("headscope")
        if name not in _MODULES:
            raise AttributeError(f"module 'headscope' has no attribute {name!r}")
        module = import_module(f"headscope.{_MODULES[name]}")
        return getattr(module, "open_run" if name == "open" else name)


def __dir__() -> list[str]:
    return sorted(__all__)
