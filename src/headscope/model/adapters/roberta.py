"""RoBERTa and relatives: positions start after the padding id, so that two are never used."""

from dataclasses import replace

from headscope.model.adapters.bert import BERT

ROBERTA = replace(BERT, family="roberta", reserved_positions=2)
XLM_ROBERTA = replace(ROBERTA, family="xlm-roberta")
CAMEMBERT = replace(ROBERTA, family="camembert")
