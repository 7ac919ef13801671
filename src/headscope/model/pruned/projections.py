"""Which projections of a layer make its heads: those that run before and after them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from headscope.corpus import Example
from headscope.errors import ModelError
from headscope.model.batch import Batch
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.model import Model
from headscope.model.pruned.linear import LINEAR

Call = tuple[str, Tensor]
"""The name of a linear map that ran, and its input."""
TEXTS = ("A b, c. D e f, a b; g a d.", "B e a!")


@dataclass
class LayerProjections:
    """The projections of one layer.

    Attributes:
        inputs: names of the linear maps that ran before the heads.
        output: name of the one that takes their outputs.
        heads, groups: how many heads, and how many of keys and values.
        size: numbers of a value vector.
        biased: whether the module that holds them is given a bias with a row for each head.
    """

    output: str = ""
    inputs: list[str] = field(default_factory=list)
    heads: int = 0
    groups: int = 0
    size: int = 0
    biased: bool = False

    @property
    def attention(self) -> str:
        """The name of the innermost module that holds all projections."""
        parts = [name.split(".")[:-1] for name in (*self.inputs, self.output)]
        shared = [steps[0] for steps in zip(*parts, strict=False) if len(set(steps)) == 1]
        return ".".join(shared)

    @property
    def repeats(self) -> int:
        """Heads that share a key and a value."""
        return self.heads // self.groups


def sample(model: Model) -> Batch:
    """Two short texts, one of them padded; for a model that translates, with translations."""
    first, second = (Example("0", text=text) for text in TEXTS)
    examples = [replace(first, translation=second), replace(second, translation=first)]
    return model.batch(model.encode(examples, min(32, model.max_length)))


@torch.no_grad()
def sample_output(model: Model) -> Tensor:
    """(token, hidden) what a model gives for them."""
    batch = sample(model)
    output: Tensor = model.network(**batch.inputs(model.network))[0][batch.real_outputs]
    return output


def find_projections(model: Model) -> dict[int, LayerProjections]:
    """The projections of every layer that attends; an error where they cannot be told."""
    adapter, network = model.adapter, model.network
    if not adapter.block_list and not adapter.modules:
        raise ModelError(
            f"the layers of {model.name} share their weights, so that a head cannot be removed "
            "from one of them alone"
        )
    found: dict[int, LayerProjections] = {}
    attended: dict[int, int] = {}
    with _calls(network) as calls, torch.inference_mode():

        def note(outputs: HeadOutputs) -> Tensor:
            layer = found.setdefault(outputs.layer, LayerProjections())
            layer.heads, layer.groups = outputs.context.shape[2], outputs.value.shape[1]
            layer.size = outputs.context.shape[3]
            attended.setdefault(outputs.layer, len(calls))
            return outputs.context

        with intercept_head_outputs(network, adapter, note):
            network(**sample(model).inputs(network))
    for number, layer in found.items():
        if adapter.modules:
            layer.output, inside = adapter.projections[number], f"{adapter.modules[number]}."
            before = [name for name, _ in calls[: attended[number]] if name.startswith(inside)]
            layer.inputs = list(dict.fromkeys(before))
        else:
            _complete(layer, f"{adapter.block_list}.{number}.", calls, attended[number])
        if not layer.output:
            raise ModelError(f"{model.head_name(number)} of {model.name} has no output projection")
    return found


def note_biases(model: Model, layers: dict[int, LayerProjections]) -> None:
    """Note which layers are given a bias, (example, head, query, key), by the layers before."""

    def noting(layer: LayerProjections) -> Any:
        def note(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
            tensors = [value for value in (*given, *named.values()) if isinstance(value, Tensor)]
            layer.biased |= any(t.dim() == 4 and t.shape[1] == layer.heads > 1 for t in tensors)

        return note

    network = model.network
    with ExitStack() as undo, torch.inference_mode():
        for layer in layers.values():
            module = network.get_submodule(layer.attention)
            hook = module.register_forward_pre_hook(noting(layer), with_kwargs=True)
            undo.callback(hook.remove)
        network(**sample(model).inputs(network))


def _complete(layer: LayerProjections, prefix: str, calls: list[Call], attended: int) -> None:
    """Find the projections of a layer among all linear maps that ran.

    Args:
        prefix: of the names of its modules.
        attended: how many linear maps had run when its heads had their outputs.
    """
    later = [call for call in calls[attended:] if call[0].startswith(prefix)]
    before = [call for call in calls[:attended] if call[0].startswith(prefix)]
    entered = [given for _, given in before]

    def takes_heads(given: Tensor) -> bool:
        """Whether an input has the size of all heads and is not what the layer began with."""
        if given.shape[-1] != layer.heads * layer.size:
            return False
        return not any(each.shape == given.shape and torch.equal(each, given) for each in entered)

    layer.output = next((name for name, given in later if takes_heads(given)), "")
    end = next((place for place, call in enumerate(later) if call[0] == layer.output), 0)
    layer.inputs = list(dict.fromkeys(name for name, _ in [*before, *later[:end]]))


@contextmanager
def _calls(network: nn.Module) -> Iterator[list[Call]]:
    """The linear maps as they run."""
    calls: list[Call] = []

    def noting(name: str) -> Any:
        return lambda _, arguments: calls.append((name, arguments[0]))

    with ExitStack() as undo:
        for name, module in network.named_modules():
            if isinstance(module, LINEAR):
                undo.callback(module.register_forward_pre_hook(noting(name)).remove)
        yield calls
