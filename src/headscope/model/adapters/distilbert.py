"""DistilBERT: no segment embeddings, no layer index on its modules."""

from headscope.model.adapters.base import Adapter

DISTILBERT = Adapter(
    "distilbert",
    output_projection="attention.out_lin",
    mlp_module="ffn",
)
