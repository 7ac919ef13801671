"""ELECTRA: the attention of BERT; only the size of the embeddings differs."""

from dataclasses import replace

from headscope.model.adapters.bert import BERT

ELECTRA = replace(BERT, family="electra")
