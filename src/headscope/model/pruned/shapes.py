"""The shapes of a pruned network, as its configuration states them.

They say how each module differs from that of the unpruned network, so that any program can rebuild
the network before it loads the weights: `resize` is all there is to it, and its source is written
into the folder of a pruned model.
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


class HeadBias:
    """Selects the remaining heads in a bias, (example, head, query, key), that a module is given.

    Args:
        heads: how many heads there were; kept: those that remain.
    """

    def __init__(self, heads: int, kept: list[int]) -> None:
        self.heads, self.kept = heads, kept

    def __call__(self, _: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The arguments of a module, positional and named."""
        return tuple(map(self.select, given)), {k: self.select(v) for k, v in named.items()}

    def select(self, value: Any) -> Any:
        """A bias without the rows of the other heads; anything else as it is."""
        if isinstance(value, torch.Tensor) and value.dim() == 4 and value.shape[1] == self.heads:
            return value[:, self.kept]
        return value


def resize(network: nn.Module, shapes: dict[str, Any]) -> None:
    """Give the modules of a network the shapes of a pruned one; their weights are to be loaded.

    Args:
        shapes: `parameters`, by name their shapes; `rows`, by the name of a linear map the row that
            gives each output; `biases`, by the name of a module how many heads there were and
            which remain in the biases that it is given; `attributes`, by the name of a module what
            it says of itself.
    """
    for name, size in shapes["parameters"].items():
        owner, _, leaf = name.rpartition(".")
        module = network.get_submodule(owner)
        old = getattr(module, leaf)
        like = next(network.parameters()) if old is None else old
        setattr(module, leaf, nn.Parameter(like.new_zeros(size), requires_grad=True))
        if leaf == "weight" and isinstance(module, nn.Linear):
            module.out_features, module.in_features = size
        elif leaf == "weight" and hasattr(module, "nf"):  # GPT-2's transposed linear map
            module.nx, module.nf = size
    for name, rows in shapes["rows"].items():
        share_rows(network.get_submodule(name), rows)
    for name, (heads, kept) in shapes["biases"].items():
        hook = HeadBias(heads, kept)
        network.get_submodule(name).register_forward_pre_hook(hook, with_kwargs=True)
    for name, values in shapes["attributes"].items():
        for attribute, value in values.items():
            setattr(network.get_submodule(name), attribute, value)


def share_rows(module: nn.Module, rows: list[int]) -> None:
    """Make each output of a linear map be given by one of its rows."""
    module.__class__ = HeadLinear
    vars(module)["rows"] = list(rows)


def pruned_class(kind: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """A class of networks whose modules have the shapes that their configuration states."""

    def make(self: PreTrainedModel, config: PretrainedConfig, *rest: Any, **options: Any) -> None:
        kind.__init__(self, config, *rest, **options)
        resize(self.base_model, config.headscope_shapes)

    return type(kind.__name__, (kind,), {"__init__": make, "__module__": kind.__module__})
