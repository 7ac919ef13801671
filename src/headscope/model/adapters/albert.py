"""ALBERT: one attention module runs for all layers, so a layer is known by its turn."""

from headscope.model.adapters.base import Adapter, register

ALBERT = register(Adapter("albert", output="attention.dense", feed="ffn"))
