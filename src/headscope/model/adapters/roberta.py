"""RoBERTa and its kin: positions are counted from the padding's id, so two are never used."""

from headscope.model.adapters.base import Adapter, register

ROBERTA, XLM_ROBERTA, CAMEMBERT = (
    register(Adapter(family, reserved=2, output="attention.output.dense", feed="intermediate"))
    for family in ("roberta", "xlm-roberta", "camembert")
)
