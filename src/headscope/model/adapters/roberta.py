"""RoBERTa and its kin: positions are counted from the padding's id, so two are never used."""

from headscope.model.adapters.base import Adapter, register

ROBERTA = register(Adapter("roberta", reserved=2))
XLM_ROBERTA = register(Adapter("xlm-roberta", reserved=2))
CAMEMBERT = register(Adapter("camembert", reserved=2))
