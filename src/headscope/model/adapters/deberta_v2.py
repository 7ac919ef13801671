"""DeBERTa v2 and v3: disentangled attention, which no registered function could compute."""

from headscope.model.adapters.base import Adapter, Route, register

DEBERTA_V2 = register(
    Adapter(
        "deberta-v2",
        Route.HOOK,
        attention="DisentangledSelfAttention",
        output="attention.output.dense",
        feed="intermediate",
        value="attention.self.value_proj",
        core="attention.self",
        into=("query_proj", "key_proj", "value_proj", "pos_key_proj", "pos_query_proj"),
        count="num_attention_heads",
    )
)
