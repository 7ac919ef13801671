"""DeBERTa v2 and v3: disentangled attention, which no registered attention function computes."""

from headscope.model.adapters.base import Adapter, Route

DEBERTA_V2 = Adapter(
    "deberta-v2",
    Route.SOFTMAX,
    output_projection="attention.output.dense",
    mlp_module="intermediate",
)
