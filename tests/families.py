"""Tiny random models of families that differ in how they attend, each for a cause of its own."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from transformers import AutoConfig, AutoModel, PreTrainedModel

from headscope.model import Model, wrap
from headscope.testing import VOCABULARY, tiny_tokenizer

COMMON: dict[str, Any] = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
}
EXPERTS: dict[str, Any] = {
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}
MLA: dict[str, Any] = {
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
GPT: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4}
DECODERS: dict[str, dict[str, Any]] = {
    "llama": {},  # keys and values are shared by heads
    "gemma2": {"query_pre_attn_scalar": 8, "sliding_window": 8},  # soft caps, windows
    "gpt_oss": EXPERTS | {"sliding_window": 8},  # sinks, experts
    "mixtral": EXPERTS,
    "deepseek_v3": MLA,
    "deepseek_v32": MLA | {"index_topk": 6, "index_n_heads": 4, "index_head_dim": 16},  # sparse
    "diffllama": {"num_key_value_heads": 4},  # two values for one map
    "apertus": {},  # weights without a dimension
    "afmoe": EXPERTS | {"num_dense_layers": 1, "sliding_window": 8},  # a gate after the heads
    "jamba": EXPERTS
    | {"num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1}
    | {"mamba_d_state": 8, "mamba_dt_rank": 8},  # only some layers attend
    "laguna": EXPERTS
    | {"num_hidden_layers": 3, "num_attention_heads_per_layer": [4, 8, 4]},  # heads differ
    "bloom": {"n_layer": 2, "n_head": 4},  # calls no function; a mask of its own
    "gptj": GPT,
    "gpt_neo": {
        "num_layers": 2,
        "num_heads": 4,
        "attention_types": [[["global", "local"], 1]],
        "window_size": 8,
    },
    "falcon": {"num_kv_heads": 4, "multi_query": False, "head_dim": None},
}
ENCODERS: dict[str, dict[str, Any]] = {
    "xlnet": {  # a product by an equation
        "d_model": 32,
        "n_layer": 2,
        "n_head": 4,
        "d_inner": 48,
        "max_position_embeddings": None,
    },
    "convbert": {"embedding_size": 32},  # reads a padded text otherwise
    "data2vec-text": {},  # reserved positions
}


@cache
def family_network(family: str, seed: int = 1) -> PreTrainedModel:
    """A tiny random network of a family, its weights large enough for heads to differ."""
    settings = COMMON | {**DECODERS, **ENCODERS}[family]
    stated = {name: value for name, value in settings.items() if value is not None}
    torch.manual_seed(seed)
    network: PreTrainedModel = AutoModel.from_config(AutoConfig.for_model(family, **stated))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if weight.dim() == 2:
                scale = 1.0 if "embed" in name else 1.5 * weight.shape[1] ** -0.5
                weight.copy_(torch.randn(weight.shape, generator=generator) * scale)
            elif "sink" in name:
                weight.copy_(torch.randn(weight.shape, generator=generator))
    network.train(False)
    return network


def family_model(family: str) -> Model:
    """The same with a tokenizer, ready to be watched."""
    return wrap(family_network(family), tiny_tokenizer(decoder=family in DECODERS), family)
