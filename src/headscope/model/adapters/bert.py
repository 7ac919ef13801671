"""BERT."""

from headscope.model.adapters.base import Adapter

BERT = Adapter(
    "bert",
    output_projection="attention.output.dense",
    mlp_module="intermediate",
)
