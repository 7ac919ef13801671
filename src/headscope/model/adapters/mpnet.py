"""MPNet: its attention adds a relative position bias and calls no registered function."""

from headscope.model.adapters.base import Adapter, Route

MPNET = Adapter(
    "mpnet",
    Route.SOFTMAX,
    reserved_positions=2,
    output_projection="attention.attn.o",
    mlp_module="intermediate",
)
