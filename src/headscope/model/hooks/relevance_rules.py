"""Layer-wise relevance propagation (Bach et al. 2015; Voita et al. 2019, section 4).

A network's score is handed down, from what is read to what it was computed from. Linear maps share
it out by the epsilon rule; the weights of attention and the normalisers of LayerNorm are
constants; an activation hands on what it gets; a product of two things gives each one half.

Relevance of a tensor is the tensor times a gradient in which every operation has been replaced by
its rule: so no architecture has to be known, only the operations that it is made of. What biases
and epsilon absorb is written down, so that everything can be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers import activations

from headscope.model.hooks.head_outputs import HeadOutputs, Outlet, changing
from headscope.model.hooks.tap import held
from headscope.model.loading import Model

EPSILON = 1e-3
SOFTMAX: list[Any] = [functional.softmax, torch.softmax, Tensor.softmax]
ACTIVATIONS: list[Any] = [
    functional.gelu, functional.relu, functional.silu, functional.tanh, torch.tanh, torch.relu,
    torch.sigmoid, Tensor.tanh, Tensor.relu, Tensor.sigmoid,
]  # fmt: skip
PRODUCTS: list[Any] = [
    torch.mul, Tensor.mul, Tensor.__mul__, torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm
]  # fmt: skip
SUMS: list[Any] = [torch.add, Tensor.add, Tensor.__add__]
"""Operations that a rule holds for, under every name that they are called by."""


@dataclass
class Ledger:
    """What did not reach the inputs, in the order of the operations.

    Attributes:
        biases, epsilons: what the biases, and the stabiliser, of each operation absorbed.
    """

    biases: list[float] = field(default_factory=list)
    epsilons: list[float] = field(default_factory=list)

    def open(self) -> int:
        """An entry for one more operation."""
        self.biases.append(0.0)
        self.epsilons.append(0.0)
        return len(self.biases) - 1

    def above(self, number: int) -> tuple[float, float]:
        """What biases and epsilons absorbed from an entry on."""
        return sum(self.biases[number:]), sum(self.epsilons[number:])


class _Linear(torch.autograd.Function):
    """A linear map that shares relevance out by the epsilon rule."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        """Of what is given, the weight and the bias; then the ledger and epsilon."""
        given, weight, bias, ledger, ctx.epsilon = arguments
        made = functional.linear(given, weight, bias)
        ctx.save_for_backward(made, weight, bias)
        ctx.ledger, ctx.number = ledger, ledger.open()
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradient by what was given, such that it times that is its relevance."""
        (gradient,), (made, weight, bias) = gradients, ctx.saved_tensors
        away = torch.where(made < 0, -ctx.epsilon, ctx.epsilon)
        shared = gradient * made / (made + away)
        if bias is not None:
            ctx.ledger.biases[ctx.number] += float((shared * bias).double().sum())
        absorbed = (gradient - shared).double() * made.double()
        ctx.ledger.epsilons[ctx.number] += float(absorbed.sum())
        return shared @ weight, None, None, None, None


class _Shift(torch.autograd.Function):
    """The addition of a bias, which absorbs its part."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        """Of what is given and the bias; then the ledger."""
        given, bias, ledger = arguments
        ctx.save_for_backward(bias)
        ctx.ledger, ctx.number = ledger, ledger.open()
        return given + bias

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The same gradient."""
        (gradient,), (bias,) = gradients, ctx.saved_tensors
        ctx.ledger.biases[ctx.number] += float((gradient * bias).double().sum())
        return gradient, None, None


def _applied(function: Any, *arguments: Any) -> Tensor:
    made: Tensor = function.apply(*arguments)
    return made


def passed_on(given: Tensor, made: Tensor) -> Tensor:
    """What an activation made, such that it hands on all relevance that it gets."""
    still = given.detach()
    ratio = torch.where(still.abs() > 1e-12, made.detach() / still, torch.zeros_like(still))
    return made.detach() + (given - still) * ratio


class Rules(TorchFunctionMode):
    """Has operations follow the rules of relevance for the time of a `with`."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.ledger, self.epsilon = Ledger(), epsilon
        self.residual: Callable[[Any, Any], Tensor | None] = lambda *_: None
        self._rules: dict[Any, Callable[..., Any]] = {
            functional.linear: self._linear,
            torch.addmm: lambda bias, given, weight: self._linear(given, weight.T, bias),
            functional.layer_norm: self._layer_norm,
            torch.layer_norm: self._layer_norm,
            functional.scaled_dot_product_attention: self._attention,
            functional.cosine_similarity: self._cosine,
            torch.rsqrt: lambda given: torch.rsqrt(given).detach(),
        }
        self._rules |= {one: self._constant(one) for one in SOFTMAX}
        self._rules |= {one: self._activation(one) for one in ACTIVATIONS}
        self._rules |= {one: self._product(one) for one in PRODUCTS}
        self._rules |= {one: self._sum(one) for one in SUMS}

    def __torch_function__(
        self, function: Any, kinds: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        return self._rules.get(function, function)(*arguments, **(options or {}))

    def _linear(self, given: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return _applied(_Linear, given, weight, bias, self.ledger, self.epsilon)

    def _layer_norm(
        self, given: Tensor, shape: Any, weight: Tensor | None = None, *rest: Any, **options: Any
    ) -> Tensor:
        bias, eps = (*rest, *(None, 1e-5)[len(rest) :])[:2]
        bias, eps = options.get("bias", bias), options.get("eps", eps)
        axes = tuple(range(-len(shape), 0))
        centred = given - given.mean(axes, keepdim=True)
        spread = (centred.detach().pow(2).mean(axes, keepdim=True) + eps).rsqrt()
        made: Tensor = centred * spread
        made = made if weight is None else made * weight
        if bias is None:
            return made
        return _applied(_Shift, made, bias, self.ledger)

    def _attention(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
        **options: Any,
    ) -> Tensor:  # fmt: skip
        """Attention whose weights are constants."""
        if options.get("enable_gqa"):
            groups = query.shape[-3] // key.shape[-3]
            key, value = (one.repeat_interleave(groups, -3) for one in (key, value))
        scale = options.get("scale") or query.shape[-1] ** -0.5
        scores = query.detach() @ key.detach().mT * scale
        if options.get("is_causal"):
            attn_mask = torch.ones_like(scores[0, 0], dtype=torch.bool).tril()
        if attn_mask is not None and attn_mask.dtype is torch.bool:
            scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
        elif attn_mask is not None:
            scores = scores + attn_mask
        return torch.softmax(scores, -1) @ value

    def _cosine(self, one: Tensor, other: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
        """The cosine: lengths are constants, the product is shared."""
        lengths = (part.detach().norm(dim=dim, keepdim=True) for part in (one, other))
        first, second = (part / size.clamp_min(eps) for part, size in
                         zip((one, other), lengths, strict=True))  # fmt: skip
        made: Tensor = (first * second.detach() + first.detach() * second) / 2
        return made.sum(dim)

    @staticmethod
    def _constant(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda *arguments, **options: function(*arguments, **options).detach()

    @staticmethod
    def _activation(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def act(given: Tensor, *arguments: Any, **options: Any) -> Tensor:
            return passed_on(given, function(given.detach(), *arguments, **options))

        return act

    @staticmethod
    def _product(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def both(one: Any, other: Any, **options: Any) -> Tensor:
            shared = all(isinstance(part, Tensor) and part.requires_grad for part in (one, other))
            if not shared:
                return function(one, other, **options)
            half = function(one, other.detach(), **options)
            made: Tensor = (half + function(one.detach(), other, **options)) / 2
            return made

        return both

    def _sum(self, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def both(one: Any, other: Any, **options: Any) -> Tensor:
            made = self.residual(one, other)
            return function(one, other, **options) if made is None else made

        return both


@dataclass
class Trace:
    """What a pass under the rules has left to follow relevance back to.

    Attributes:
        start: (text, token, hidden) what enters the first layer.
        contexts: of each layer, (text, token, head, size) what its heads give.
        skips: of each layer, what its residual path carries past them.
        numbers: of each layer, the first entry of the ledger above its heads.
    """

    ledger: Ledger
    start: Tensor | None = None
    contexts: list[Tensor] = field(default_factory=list)
    skips: list[Tensor] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def relevance(self, score: Tensor) -> tuple[Tensor, Tensor, float]:
        """Follow a score back.

        Returns:
            (layer, text, head) of heads, (layer,) of residual paths, and of what enters the first.
        """
        wanted = [self.start, *self.contexts, *self.skips]
        found = torch.autograd.grad(score, [one for one in wanted if one is not None])
        layers = len(self.contexts)
        heads = [(one * back).sum((1, 3)) for one, back in
                 zip(self.contexts, found[1 : layers + 1], strict=True)]  # fmt: skip
        skipped = [(one * back).double().sum() for one, back in
                   zip(self.skips, found[layers + 1 :], strict=True)]  # fmt: skip
        entered = 0.0 if self.start is None else (self.start.detach() * found[0]).double().sum()
        return (torch.stack(heads).detach(), torch.stack(skipped).detach(),
                float(entered))  # fmt: skip


@contextmanager
def propagating(model: Model, epsilon: float = EPSILON) -> Iterator[Trace]:
    """Have a model follow the rules of relevance for the time of a `with`."""
    rules = Rules(epsilon)
    trace = Trace(rules.ledger)

    def keep(outputs: HeadOutputs) -> Tensor:
        trace.contexts.append(outputs.context)
        trace.numbers.append(len(trace.ledger.biases))
        return outputs.context

    with held(model.network), ExitStack() as undo:
        for one in model.whole.parameters():
            undo.callback(one.requires_grad_, one.requires_grad)
            one.requires_grad_(False)
        outlet = undo.enter_context(changing(model.network, model.adapter, model.heads, keep))
        _enter(outlet, trace, rules, undo)
        for module in model.whole.modules():
            if type(module).__module__ == activations.__name__:
                undo.callback(module.register_forward_hook(_handed_on).remove)
        undo.enter_context(rules)
        undo.enter_context(torch.enable_grad())
        yield trace


def _handed_on(_: nn.Module, arguments: tuple[Any, ...], made: Tensor) -> Tensor:
    return passed_on(arguments[0], made)


def _enter(outlet: Outlet, trace: Trace, rules: Rules, undo: ExitStack) -> None:
    """Notice what enters each layer, and where it is added to what the layer's heads gave."""
    entered: list[Tensor] = []

    def enter(_: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        hidden = arguments[0] if arguments else options["hidden_states"]
        if trace.start is None:
            hidden = trace.start = hidden.detach().requires_grad_()
        entered[:] = [hidden]
        if arguments:
            return (hidden, *arguments[1:]), options
        return arguments, options | {"hidden_states": hidden}

    def residual(one: Any, other: Any) -> Tensor | None:
        waiting = len(trace.skips) < len(trace.contexts)
        if not waiting or not entered or not (one is entered[0] or other is entered[0]):
            return None
        skip = entered[0].view_as(entered[0])
        trace.skips.append(skip)
        made: Tensor = skip + (other if one is entered[0] else one)
        return made

    rules.residual = residual
    for block in outlet.blocks:
        handle = block.register_forward_pre_hook(enter, with_kwargs=True)
        undo.callback(handle.remove)
