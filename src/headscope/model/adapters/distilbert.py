"""DistilBERT: no segments, no layer numbers on its modules."""

from headscope.model.adapters.base import Adapter, register

DISTILBERT = register(
    Adapter(
        "distilbert",
        output="attention.out_lin",
        feed="ffn",
        core="attention",
        into=("q_lin", "k_lin", "v_lin"),
    )
)
