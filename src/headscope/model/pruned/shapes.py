"""The shapes of a pruned network, as its configuration states them.

They say how each module differs from that of the unpruned network, without a word about heads, so
that any program can rebuild the network before it loads the weights: `resize` is all there is to
it, and its source is written into the folder of a pruned model.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel


class HeadLinear(nn.Linear):
    """A linear map some of whose outputs are used several times: keys and values that heads share.

    Attributes:
        rows: for each output, the row of the weight that gives it.
    """

    rows: list[int]

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """(..., output) from (..., input)."""
        outputs = super().forward(hidden)
        return outputs.index_select(-1, torch.tensor(self.rows, device=outputs.device))


def resize(network: nn.Module, shapes: dict[str, Any]) -> None:
    """Give the modules of a network the shapes of a pruned one; their weights are to be loaded.

    Args:
        shapes: `parameters`, by name their shapes; `expand`, by the name of a linear map the rows
            of its outputs; `attributes`, by the name of a module what it says of itself.
    """
    for name, size in shapes["parameters"].items():
        owner, _, leaf = name.rpartition(".")
        module = network.get_submodule(owner)
        old = getattr(module, leaf)
        like = next(network.parameters()) if old is None else old
        setattr(module, leaf, nn.Parameter(like.new_zeros(size), requires_grad=True))
        if leaf == "weight" and isinstance(module, nn.Linear):
            module.out_features, module.in_features = size
    for name, rows in shapes["expand"].items():
        module = network.get_submodule(name)
        module.__class__ = HeadLinear
        vars(module)["rows"] = list(rows)
    for name, values in shapes["attributes"].items():
        for attribute, value in values.items():
            setattr(network.get_submodule(name), attribute, value)


def pruned_class(kind: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """A class of networks whose modules have the shapes that their configuration states."""

    def make(self: PreTrainedModel, config: PretrainedConfig, *rest: Any, **options: Any) -> None:
        kind.__init__(self, config, *rest, **options)
        resize(self.base_model, config.headscope_shapes)

    return type(kind.__name__, (kind,), {"__init__": make, "__module__": kind.__module__})
