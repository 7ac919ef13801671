"""Models: loading them, observing their attention, switching heads off and removing heads.

The names below are imported on first use, so that importing this package does not import torch.
"""

from typing import TYPE_CHECKING

from headscope._util.lazy import attach

if TYPE_CHECKING:
    from headscope.model.adapters import Adapter, Route, families, register
    from headscope.model.batch import Batch
    from headscope.model.defaults import EPSILON
    from headscope.model.disabling import disable
    from headscope.model.hooks.gradients import Gates, gate_heads, scale_heads
    from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
    from headscope.model.hooks.relevance import propagate_relevance
    from headscope.model.hooks.tap import watch
    from headscope.model.hooks.variants import VariantRunner, reads_first_only
    from headscope.model.initialise import load_untrained_classifier, reinitialise
    from headscope.model.loading import load, top_of_checkpoint, wrap
    from headscope.model.model import Model
    from headscope.model.modes import evaluating
    from headscope.model.parallel import WorkItems, map_parallel, replicas_of
    from headscope.model.pruned.kept import remaining_heads
    from headscope.model.pruned.removal import remove
    from headscope.model.pruned.saving import save
    from headscope.model.replacement import Replacement, parse_replacement
    from headscope.model.top import Top

__all__ = [
    "EPSILON",
    "Adapter",
    "Batch",
    "Gates",
    "HeadOutputs",
    "Model",
    "Replacement",
    "Route",
    "Top",
    "VariantRunner",
    "WorkItems",
    "disable",
    "evaluating",
    "families",
    "gate_heads",
    "intercept_head_outputs",
    "load",
    "load_untrained_classifier",
    "map_parallel",
    "parse_replacement",
    "propagate_relevance",
    "reads_first_only",
    "register",
    "reinitialise",
    "remaining_heads",
    "remove",
    "replicas_of",
    "save",
    "scale_heads",
    "top_of_checkpoint",
    "watch",
    "wrap",
]

_MODULES = {
    "EPSILON": "headscope.model.defaults",
    "Adapter": "headscope.model.adapters",
    "Batch": "headscope.model.batch",
    "Gates": "headscope.model.hooks.gradients",
    "HeadOutputs": "headscope.model.hooks.head_outputs",
    "Model": "headscope.model.model",
    "Replacement": "headscope.model.replacement",
    "Route": "headscope.model.adapters",
    "Top": "headscope.model.top",
    "VariantRunner": "headscope.model.hooks.variants",
    "WorkItems": "headscope.model.parallel",
    "disable": "headscope.model.disabling",
    "evaluating": "headscope.model.modes",
    "families": "headscope.model.adapters",
    "gate_heads": "headscope.model.hooks.gradients",
    "intercept_head_outputs": "headscope.model.hooks.head_outputs",
    "load": "headscope.model.loading",
    "load_untrained_classifier": "headscope.model.initialise",
    "map_parallel": "headscope.model.parallel",
    "parse_replacement": "headscope.model.replacement",
    "propagate_relevance": "headscope.model.hooks.relevance",
    "reads_first_only": "headscope.model.hooks.variants",
    "register": "headscope.model.adapters",
    "reinitialise": "headscope.model.initialise",
    "remaining_heads": "headscope.model.pruned.kept",
    "remove": "headscope.model.pruned.removal",
    "replicas_of": "headscope.model.parallel",
    "save": "headscope.model.pruned.saving",
    "scale_heads": "headscope.model.hooks.gradients",
    "watch": "headscope.model.hooks.tap",
    "top_of_checkpoint": "headscope.model.loading",
    "wrap": "headscope.model.loading",
}
if not TYPE_CHECKING:  # a type checker must not accept every name
    __getattr__, __dir__ = attach(__name__, _MODULES)
