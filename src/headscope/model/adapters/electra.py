"""ELECTRA: BERT's attention, embeddings of a size of their own."""

from headscope.model.adapters.base import Adapter, register

ELECTRA = register(Adapter("electra", output="attention.output.dense", feed="intermediate"))
