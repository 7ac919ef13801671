"""How the model is watched and disturbed: loading, the tap on its attention, heads off."""

from headscope.model.attention import LayerAttention, in_band
from headscope.model.batch import Batch
from headscope.model.disabling import How, disable, how_named
from headscope.model.hooks.gradients import Gates, gated, scaled
from headscope.model.hooks.head_outputs import HeadOutputs, changing
from headscope.model.hooks.tap import watch
from headscope.model.hooks.variants import Fork, reads_first_only
from headscope.model.initialise import initialise, untrained
from headscope.model.loading import Head, Model, load, wrap
from headscope.model.parallel import Hand, crew_of, share
from headscope.model.pruned.remove import remove
from headscope.model.pruned.save import save
from headscope.model.pruned.shrink import kept_of
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
    "gated",
    "how_named",
    "in_band",
    "initialise",
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
