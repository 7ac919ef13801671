"""GPT-2: a decoder with a causal mask, whose first token serves as the attention sink."""

from headscope.model.adapters.base import Adapter

GPT2 = Adapter(
    "gpt2",
    output_projection="attn.c_proj",
    mlp_module="mlp",
)
