"""How the model is watched and disturbed: loading, the tap on its attention, heads off."""

from headscope.model.attention import LayerAttention, in_band
from headscope.model.batch import Batch
from headscope.model.disabling import How, disable
from headscope.model.fork import Fork, reads_first_only
from headscope.model.loading import Head, Model, fresh, load, untrained, wrap
from headscope.model.outlet import HeadOutputs, changing
from headscope.model.tap import watch
from headscope.model.words import Units, WordAttention

__all__ = [
    "Batch",
    "Fork",
    "Head",
    "HeadOutputs",
    "How",
    "LayerAttention",
    "Model",
    "Units",
    "WordAttention",
    "changing",
    "disable",
    "fresh",
    "in_band",
    "load",
    "reads_first_only",
    "untrained",
    "watch",
    "wrap",
]
