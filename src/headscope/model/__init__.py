"""How the model is watched: loading, the tap on its attention, the roles of its tokens."""

from headscope.model.attention import LayerAttention, in_band
from headscope.model.batch import Batch
from headscope.model.loading import Model, load, untrained, wrap
from headscope.model.tap import watch
from headscope.model.words import Units, WordAttention

__all__ = [
    "Batch",
    "LayerAttention",
    "Model",
    "Units",
    "WordAttention",
    "in_band",
    "load",
    "untrained",
    "watch",
    "wrap",
]
