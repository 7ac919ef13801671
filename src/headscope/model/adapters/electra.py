"""ELECTRA: BERT's attention, embeddings of a size of their own."""

from dataclasses import replace

from headscope.model.adapters.base import register
from headscope.model.adapters.bert import BERT

ELECTRA = register(replace(BERT, family="electra"))
