"""How the model is watched and disturbed: loading, the tap on its attention, heads off."""

from headscope.model.attention import LayerAttention, in_band
from headscope.model.batch import Batch
from headscope.model.crew import Hand, crew_of, share
from headscope.model.disabling import How, disable, how_named
from headscope.model.fork import Fork, reads_first_only
from headscope.model.fresh import fresh, untrained
from headscope.model.live import Gates, gated, scaled
from headscope.model.loading import Head, Model, load, wrap
from headscope.model.outlet import HeadOutputs, changing
from headscope.model.pruned import remove
from headscope.model.removal import kept_of
from headscope.model.saving import save
from headscope.model.tap import watch
from headscope.model.words import Units, WordAttention

__all__ = [
    "Batch",
    "Fork",
    "Gates",
    "Hand",
    "Head",
    "HeadOutputs",
    "How",
    "LayerAttention",
    "Model",
    "Units",
    "WordAttention",
    "changing",
    "crew_of",
    "disable",
    "fresh",
    "gated",
    "how_named",
    "in_band",
    "kept_of",
    "load",
    "reads_first_only",
    "remove",
    "save",
    "scaled",
    "share",
    "untrained",
    "watch",
    "wrap",
]
