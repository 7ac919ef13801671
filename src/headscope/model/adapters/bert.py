"""BERT and what shares its code to the letter."""

from headscope.model.adapters.base import Adapter, register

BERT = register(
    Adapter(
        "bert",
        output="attention.output.dense",
        feed="intermediate",
        core="attention.self",
        into=("query", "key", "value"),
    )
)
