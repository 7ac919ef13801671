"""The attention function that a model calls, and how to stand in for it.

A model that calls transformers' attention functions is set to "eager", and a dispatcher stands
under that name: it hands the call of a network that is being watched to the watcher, together with
the family's own eager function, and calls that function for every other network. So whatever a
family does between query, key, value and output (soft caps, sinks, sparse masks) is done by its own
code.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bert.modeling_bert import eager_attention_forward as bert_attention
from transformers.models.gpt2.modeling_gpt2 import eager_attention_forward as gpt2_attention
from transformers.models.gpt_neox.modeling_gpt_neox import eager_attention_forward as neox_attention
from transformers.models.llama.modeling_llama import eager_attention_forward as llama_attention
from transformers.models.opt.modeling_opt import eager_attention_forward as opt_attention

from headscope.errors import ModelError

EAGER = "eager"
OwnFunction = Callable[..., tuple[Tensor, Tensor]]
"""A family's eager attention: (module, query, key, value, mask, ...) to outputs and weights."""


@dataclass(frozen=True)
class AttentionCall:
    """What a model hands to its attention function.

    Attributes:
        own: the eager function of the model's family.
        module: whose attention it is.
        query: (example, head, query, size); key, value: (example, head or group, key, size).
        mask: (example or 1, head or 1, query or 1, key or more) bool, or a term of scores; None:
            all keys are visible.
        options: whatever else the family hands over.
    """

    own: OwnFunction
    module: nn.Module
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    options: dict[str, Any]

    @property
    def plain(self) -> bool:
        """Whether it is the softmax of scaled products plus a mask, and nothing else."""
        return is_plain(self.own)

    def run(self) -> tuple[Tensor, Tensor]:
        """(example, query, head, size) outputs and weights, by the family's own function."""
        given = (self.module, self.query, self.key, self.value, self.mask)
        return self.own(*given, **self.options)

    def run_fused(self) -> Tensor:
        """(example, query, head, size) outputs of a plain function, without weights: faster."""
        options = self.options | {"is_causal": False}  # the mask is causal already
        given = (self.module, self.query, self.key, self.value, self.mask)
        return sdpa_attention_forward(*given, **options)[0]


Attend = Callable[[AttentionCall], tuple[Tensor, Tensor | None]]
"""What stands in for a model's attention function."""
_WATCHED: WeakKeyDictionary[nn.Module, Attend] = WeakKeyDictionary()
_LOCK = threading.Lock()
_USERS: list[object] = []


@contextmanager
def replaced_attention(network: PreTrainedModel, attend: Attend) -> Iterator[None]:
    """Have a network call `attend` instead of its attention function for the time of a `with`."""
    with ExitStack() as undo:
        undo.enter_context(_dispatcher())
        for module in network.modules():
            undo.callback(_WATCHED.pop, module)
            _WATCHED[module] = attend
        undo.enter_context(eager(network))
        yield


@contextmanager
def eager(network: nn.Module) -> Iterator[None]:
    """Set a network to eager attention for the time of a `with`."""
    configs = _configs(network)
    previous = [config._attn_implementation for config in configs]
    for config in configs:
        config._attn_implementation = EAGER
    try:
        yield
    finally:
        for config, implementation in zip(configs, previous, strict=True):
            config._attn_implementation = implementation


def _configs(network: nn.Module) -> list[Any]:
    """The configurations of a network and of its parts, each once."""
    configs = [module.config for module in network.modules() if hasattr(module, "config")]
    return list({id(config): config for config in configs}.values())


@contextmanager
def _dispatcher() -> Iterator[None]:
    """Have the dispatcher registered for the time of a `with`, however many there are."""
    user = object()
    with _LOCK:
        _USERS.append(user)
        AttentionInterface.register(EAGER, _dispatch)
    try:
        yield
    finally:
        with _LOCK:
            _USERS.remove(user)
            if not _USERS:
                ALL_ATTENTION_FUNCTIONS._global_mapping.pop(EAGER, None)


def _dispatch(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    kind: Any = type(module)
    call = AttentionCall(own_function(kind), module, query, key, value, attention_mask, options)
    attend = _WATCHED.get(module)
    return call.run() if attend is None else attend(call)


@cache
def own_function(kind: type[nn.Module]) -> OwnFunction:
    """The eager attention function of the file that defines a class of attention modules."""
    for base in kind.__mro__:
        forward = vars(base).get("forward")
        places = [getattr(inspect.unwrap(forward), "__globals__", {})] if forward else []
        places.append(vars(sys.modules[base.__module__]))
        for names in places:
            if "eager_attention_forward" in names:
                function: OwnFunction = names["eager_attention_forward"]
                return function
    raise ModelError(f"{kind.__name__} has no eager attention function in its file")


def _code(function: OwnFunction) -> tuple[Any, ...]:
    """What a function does: two that were generated from one source have the same."""
    code = function.__code__
    constants = tuple(part for part in code.co_consts if not isinstance(part, str))
    return code.co_code, code.co_names, repr(constants)


PLAIN = {
    _code(function)
    for function in (bert_attention, gpt2_attention, neox_attention, llama_attention, opt_attention)
}


@cache
def is_plain(function: OwnFunction) -> bool:
    """Whether a function is the softmax of scaled products plus a mask, and nothing else.

    >>> is_plain(bert_attention)
    True
    >>> from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward
    >>> is_plain(eager_attention_forward)
    False
    """
    return _code(function) in PLAIN
