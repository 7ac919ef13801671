"""MPNet: its attention adds a position bias of its own and calls no registered function."""

from headscope.model.adapters.base import Adapter, Route, register

MPNET = register(
    Adapter(
        "mpnet",
        Route.HOOK,
        attention="MPNetSelfAttention",
        reserved=2,
        output="attention.attn.o",
        feed="intermediate",
        value="attention.attn.v",
        core="attention.attn",
        into=("q", "k", "v"),
        width="all_head_size",
        bias=2,
    )
)
