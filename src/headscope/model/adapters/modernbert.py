"""ModernBERT: rotary positions; most layers attend to a local window, which is in the mask."""

from headscope.model.adapters.base import Adapter

MODERNBERT = Adapter(
    "modernbert",
    output_projection="attn.Wo",
    mlp_module="mlp",
)
