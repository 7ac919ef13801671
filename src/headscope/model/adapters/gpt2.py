"""GPT-2: a decoder; the mask is causal, the first token serves as the attention sink."""

from headscope.model.adapters.base import Adapter, register

GPT2 = register(
    Adapter(
        "gpt2", output="attn.c_proj", feed="mlp", core="attn", into=("c_attn",), width="split_size"
    )
)
