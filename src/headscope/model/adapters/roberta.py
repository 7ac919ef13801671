"""RoBERTa and its kin: positions are counted from the padding's id, so two are never used."""

from dataclasses import replace

from headscope.model.adapters.base import register
from headscope.model.adapters.bert import BERT

ROBERTA, XLM_ROBERTA, CAMEMBERT = (
    register(replace(BERT, family=family, reserved=2))
    for family in ("roberta", "xlm-roberta", "camembert")
)
