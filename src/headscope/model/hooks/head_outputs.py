"""Reading and replacing the outputs of heads, just before the output projection of their layer.

A hook before that projection may replace the outputs. Uniform attention also needs the value
vectors and the mask: models that call a registered attention function hand them over there, the
others through a hook on their value projection. All hooks are removed at the end of the `with`.
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

ATTENTION_PREFIX = "headscope_"
"""Prefix of the names under which our attention functions are registered."""
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class HeadOutputs:
    """The outputs of the heads of a layer, as they enter its output projection.

    Attributes:
        layer: counted from 0.
        context: (example, query, head, size) outputs.
        value: (example, head or group, key, size) value vectors.
        visible: (example, 1, query or 1, key) which keys a query may see; None: all of them.
    """

    layer: int
    context: Tensor
    value: Tensor
    visible: Tensor | None

    def uniform(self, heads: Tensor) -> Tensor:
        """(example, query or 1, head, size) outputs under uniform attention to all visible keys.

        A query that sees nothing (padding, in some models) gets zeros.

        Args:
            heads: (head,) the numbers of the heads.
        """
        groups = self.context.shape[2] // self.value.shape[1]
        value = self.value[:, heads // groups]
        if self.visible is None:
            return value.mean(2, keepdim=True).transpose(1, 2)
        weights = self.visible.to(value.dtype)
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)
        return torch.matmul(weights, value).transpose(1, 2)


Intervention = Callable[[HeadOutputs], Tensor]
"""Maps the outputs of heads to what replaces them, (..., example, query, head, size)."""


class LayerCounter:
    """Knows which layer is running. Layers are counted as they run: ALBERT's share one module."""

    def __init__(self, network: PreTrainedModel, adapter: Adapter) -> None:
        self.network, self.adapter = network, adapter
        self.blocks = adapter.blocks(network)
        self.layer = -1

    def count_layers(self, undo: ExitStack) -> None:
        """Install the hooks that count layers until `undo` is closed."""

        def begin(_: nn.Module, __: Any) -> None:
            self.layer = -1

        def enter(_: nn.Module, __: Any) -> None:
            self.layer += 1

        undo.callback(self.network.register_forward_pre_hook(begin).remove)
        for block in self.blocks:
            undo.callback(block.register_forward_pre_hook(enter).remove)


class HeadOutputInterceptor(LayerCounter):
    """Applies interventions to the head outputs of a network, one after the other."""

    def __init__(self, network: PreTrainedModel, adapter: Adapter, heads: int) -> None:
        check_intact(network)
        super().__init__(network, adapter)
        self.heads = heads
        self.interventions: list[Intervention] = []
        self._attended: tuple[Tensor, Tensor | None] | None = None
        self._real: Tensor | None = None

    def set_values(self, value: Tensor, visible: Tensor | None) -> None:
        """Take note of the value vectors and the mask of the layer that is running."""
        self._attended = (value, visible)

    def attend(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **options: Any,
    ) -> tuple[Tensor, None]:
        """Fused attention that also takes note of its values and its mask."""
        self.set_values(value, attention_mask)
        options["is_causal"] = False  # the mask is causal already
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)

    def install(self, undo: ExitStack) -> None:
        """Install all hooks until `undo` is closed."""

        def begin(_: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
            mask = options.get("attention_mask")
            self._real = None if mask is None else mask[:, None, None, :].bool()

        def before_projection(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            return (self._intervene(arguments[0]), *arguments[1:])

        def after_value(_: nn.Module, __: Any, output: Tensor) -> None:
            self.set_values(self._by_head(output).transpose(1, 2), self._real)

        self.count_layers(undo)
        undo.callback(self.network.register_forward_pre_hook(begin, with_kwargs=True).remove)
        for block in self.blocks:
            projection = block.get_submodule(self.adapter.output_projection)
            undo.callback(projection.register_forward_pre_hook(before_projection).remove)
            if self.adapter.route is Route.HOOK:
                value = block.get_submodule(self.adapter.value_projection)
                undo.callback(value.register_forward_hook(after_value).remove)
        current = str(self.network.config._attn_implementation)
        if self.adapter.route is Route.FUNCTION and not current.startswith(ATTENTION_PREFIX):
            route_attention(self.network, self.attend, undo)

    def _by_head(self, hidden: Tensor) -> Tensor:
        """(..., head, size) from (..., hidden)."""
        return hidden.view(*hidden.shape[:-1], self.heads, -1)

    def _intervene(self, hidden: Tensor) -> Tensor:
        """(..., hidden) the input of the output projection after all interventions."""
        if self._attended is None:
            raise ModelError("this model runs an output projection before its attention")
        value, visible = self._attended
        context = self._by_head(hidden)
        for intervention in self.interventions:
            context = intervention(HeadOutputs(self.layer, context, value, visible))
        self._attended = None
        return context.flatten(-2)


_ACTIVE: WeakKeyDictionary[nn.Module, HeadOutputInterceptor] = WeakKeyDictionary()


def active_interceptor(network: nn.Module) -> HeadOutputInterceptor | None:
    """The interceptor that is installed in a network now; None if there is none."""
    return _ACTIVE.get(network)


@contextmanager
def intercept_head_outputs(
    network: PreTrainedModel, adapter: Adapter, heads: int, intervention: Intervention
) -> Iterator[HeadOutputInterceptor]:
    """Replace the outputs of heads by those of an intervention; may be nested."""
    with ExitStack() as undo:
        interceptor = active_interceptor(network)
        if interceptor is None:
            interceptor = HeadOutputInterceptor(network, adapter, heads)
            undo.callback(_ACTIVE.pop, network)
            _ACTIVE[network] = interceptor
            interceptor.install(undo)
        interceptor.interventions.append(intervention)
        undo.callback(interceptor.interventions.remove, intervention)
        yield interceptor


def visible_mask(*arguments: Any, **options: Any) -> Tensor | None:
    """A boolean mask (example, 1, query, key); None only if every key is visible."""
    return sdpa_mask(*arguments, **(options | {"allow_is_causal_skip": False}))


def route_attention(
    network: PreTrainedModel, function: Callable[..., Any], undo: ExitStack
) -> None:
    """Make a network compute its attention with `function` until `undo` is closed."""
    name = f"{ATTENTION_PREFIX}{next(_NUMBERS)}"
    previous = network.config._attn_implementation
    AttentionInterface.register(name, function)
    undo.callback(ALL_ATTENTION_FUNCTIONS._global_mapping.pop, name)
    AttentionMaskInterface.register(name, visible_mask)
    undo.callback(ALL_MASK_ATTENTION_FUNCTIONS._global_mapping.pop, name)
    undo.callback(network.set_attn_implementation, previous)
    network.set_attn_implementation(name)
    if network.config._attn_implementation != name:
        raise ModelError(
            f"{type(network).__name__} does not call a registered attention function; it needs an "
            "adapter with a hook (see model/adapters/mpnet.py)"
        )
