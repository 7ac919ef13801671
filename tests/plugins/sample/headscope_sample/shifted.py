"""A family of models that headscope does not know: BERT whose first positions are reserved."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModel, BertConfig, BertModel

from headscope.plugin import Adapter, register_adapter

RESERVED = 8


class ShiftedConfig(BertConfig):
    """The configuration of BERT."""

    model_type = "sample-shifted"


class ShiftedModel(BertModel):
    """BERT whose tokens are counted from 8."""

    config_class = ShiftedConfig

    def forward(self, input_ids: torch.Tensor, **options: Any) -> Any:
        """As BERT's."""
        places = torch.arange(input_ids.shape[1], device=input_ids.device) + RESERVED
        return super().forward(input_ids=input_ids, position_ids=places[None], **options)


AutoConfig.register("sample-shifted", ShiftedConfig)
AutoModel.register(ShiftedConfig, ShiftedModel)
register_adapter(Adapter("sample-shifted", reserved_positions=RESERVED))
