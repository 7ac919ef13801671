"""ALBERT: all layers share one attention module, so layers are counted as they run."""

from headscope.model.adapters.base import Adapter

ALBERT = Adapter("albert", output_projection="attention.dense", mlp_module="ffn")
