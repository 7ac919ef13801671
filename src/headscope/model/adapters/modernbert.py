"""ModernBERT: rotary positions; most layers see a window only, which the mask carries."""

from headscope.model.adapters.base import Adapter, register

MODERNBERT = register(
    Adapter("modernbert", output="attn.Wo", feed="mlp", core="attn", into=("Wqkv",))
)
