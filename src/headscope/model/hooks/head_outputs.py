"""The outlet: where the outputs of a layer's heads meet its output projection.

A hook before that projection may put other outputs in their place. What uniform attention would
have given needs the value vectors and the mask as well: models that call a registered attention
function hand them over there, the others by a hook on their value projection. For the time of a
`with` only; afterwards the model is what it was.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headscope.errors import ModelError
from headscope.model.adapters import Adapter, Route
from headscope.model.pruned.shrink import check_intact

OURS = "headscope_"
"""How the names of our attention functions begin."""
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class HeadOutputs:
    """What the heads of a layer hand to its output projection.

    Attributes:
        context: (example, query, head, size)
        value: (example, head or group, key, size)
        visible: (example, 1, query or 1, key) what may be seen; None: everything.
    """

    layer: int
    context: Tensor
    value: Tensor
    visible: Tensor | None

    def uniform(self, heads: Tensor) -> Tensor:
        """(example, query or 1, head, size) had these heads looked at all they may see alike.

        A query that may see nothing (padding, in some models) gets zeros.
        """
        groups = self.context.shape[2] // self.value.shape[1]
        value = self.value[:, heads // groups]
        if self.visible is None:
            return value.mean(2, keepdim=True).transpose(1, 2)
        weights = self.visible.to(value.dtype)
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)
        return torch.matmul(weights, value).transpose(1, 2)


Change = Callable[[HeadOutputs], Tensor]
"""From what the heads give to what takes its place, (..., example, query, head, size)."""


class Layers:
    """Which layer of a network is running, counted as they run: ALBERT runs one module for all."""

    def __init__(self, network: PreTrainedModel, adapter: Adapter) -> None:
        self.network, self.adapter = network, adapter
        self.blocks = adapter.blocks(network)
        self.layer = -1

    def count(self, undo: ExitStack) -> None:
        """Have the layers counted until `undo` is closed."""

        def begin(_: nn.Module, __: Any) -> None:
            self.layer = -1

        def enter(_: nn.Module, __: Any) -> None:
            self.layer += 1

        undo.callback(self.network.register_forward_pre_hook(begin).remove)
        for block in self.blocks:
            undo.callback(block.register_forward_pre_hook(enter).remove)


class Outlet(Layers):
    """The open outlet of a network: who changes the outputs of its heads, in turn."""

    def __init__(self, network: PreTrainedModel, adapter: Adapter, heads: int) -> None:
        check_intact(network)
        super().__init__(network, adapter)
        self.heads = heads
        self.changes: list[Change] = []
        self._seen: tuple[Tensor, Tensor | None] | None = None
        self._real: Tensor | None = None

    def see(self, value: Tensor, visible: Tensor | None) -> None:
        """Values and mask of the layer that is being computed."""
        self._seen = (value, visible)

    def attend(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **options: Any,
    ) -> tuple[Tensor, None]:
        """Fused attention, with its values and mask handed over."""
        self.see(value, attention_mask)
        options["is_causal"] = False  # the mask says it
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)

    def install(self, undo: ExitStack) -> None:
        """Put the hooks in."""

        def begin(_: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
            mask = options.get("attention_mask")
            self._real = None if mask is None else mask[:, None, None, :].bool()

        def put(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            return (self._changed(arguments[0]), *arguments[1:])

        def values(_: nn.Module, __: Any, output: Tensor) -> None:
            self.see(self._by_head(output).transpose(1, 2), self._real)

        self.count(undo)
        undo.callback(self.network.register_forward_pre_hook(begin, with_kwargs=True).remove)
        for block in self.blocks:
            output = block.get_submodule(self.adapter.output)
            undo.callback(output.register_forward_pre_hook(put).remove)
            if self.adapter.route is Route.HOOK:
                value = block.get_submodule(self.adapter.value)
                undo.callback(value.register_forward_hook(values).remove)
        now = self.network.config._attn_implementation
        if self.adapter.route is Route.FUNCTION and not str(now).startswith(OURS):
            route(self.network, self.attend, undo)

    def _by_head(self, hidden: Tensor) -> Tensor:
        """(..., head, size) from (..., hidden)."""
        return hidden.view(*hidden.shape[:-1], self.heads, -1)

    def _changed(self, entering: Tensor) -> Tensor:
        """What goes into the output projection after all changes."""
        if self._seen is None:
            raise ModelError("the attention of this model is not seen before its output")
        value, visible = self._seen
        context = self._by_head(entering)
        for change in self.changes:
            context = change(HeadOutputs(self.layer, context, value, visible))
        self._seen = None
        return context.flatten(-2)


OPEN: WeakKeyDictionary[nn.Module, Outlet] = WeakKeyDictionary()
"""The outlets that are open now."""


@contextmanager
def changing(
    network: PreTrainedModel, adapter: Adapter, heads: int, change: Change
) -> Iterator[Outlet]:
    """Have the outputs of heads changed for the time of a `with`; may be nested."""
    with ExitStack() as undo:
        outlet = OPEN.get(network)
        if outlet is None:
            outlet = Outlet(network, adapter, heads)
            undo.callback(OPEN.pop, network)
            OPEN[network] = outlet
            outlet.install(undo)
        outlet.changes.append(change)
        undo.callback(outlet.changes.remove, change)
        yield outlet


def visible_mask(*arguments: Any, **options: Any) -> Tensor | None:
    """A boolean mask (example, 1, query, key); None only where everything is visible."""
    return sdpa_mask(*arguments, **(options | {"allow_is_causal_skip": False}))


def route(network: PreTrainedModel, function: Callable[..., Any], undo: ExitStack) -> None:
    """Put a function of our own in the place of the model's attention."""
    name, before = f"{OURS}{next(_NUMBERS)}", network.config._attn_implementation
    AttentionInterface.register(name, function)
    undo.callback(ALL_ATTENTION_FUNCTIONS._global_mapping.pop, name)
    AttentionMaskInterface.register(name, visible_mask)
    undo.callback(ALL_MASK_ATTENTION_FUNCTIONS._global_mapping.pop, name)
    undo.callback(network.set_attn_implementation, before)
    network.set_attn_implementation(name)
    if network.config._attn_implementation != name:
        raise ModelError(
            f"{type(network).__name__} does not call a registered attention function; it needs an "
            "adapter with a hook (see model/adapters/mpnet.py)"
        )
