"""DeBERTa v2 and v3: disentangled attention, which no registered attention function computes."""

from headscope.model.adapters.base import Adapter, Route

DEBERTA_V2 = Adapter(
    "deberta-v2",
    Route.SOFTMAX,
    output_projection="attention.output.dense",
    mlp_module="intermediate",
    attention_module="attention.self",
    qkv_modules=("query_proj", "key_proj", "value_proj", "pos_key_proj", "pos_query_proj"),
    num_heads_attr="num_attention_heads",
)
