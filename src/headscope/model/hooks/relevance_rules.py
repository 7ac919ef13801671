"""Rules of layer-wise relevance propagation (Bach et al. 2015; Voita et al. 2019, section 4).

Linear maps distribute relevance by the epsilon rule; the weights of attention and the normalisers
of LayerNorm are constants; an activation passes all relevance on; the two factors of a product get
half each.

The relevance of a tensor is the tensor times a gradient in which every operation is replaced by
its rule. No architecture has to be known, therefore, only the operations it consists of. The
relevance that biases and epsilon absorb is recorded, so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

# Operations that a rule applies to, under every name by which they are called.
CONSTANTS: list[Any] = [
    functional.softmax,
    torch.softmax,
    Tensor.softmax,
    torch.erf,  # a GELU that is written out is its input times this
    Tensor.erf,
    torch.rsqrt,
    Tensor.rsqrt,
]
ACTIVATIONS: list[Any] = [
    functional.gelu,
    functional.relu,
    functional.silu,
    functional.tanh,
    torch.tanh,
    torch.relu,
    torch.sigmoid,
    Tensor.tanh,
    Tensor.relu,
    Tensor.sigmoid,
]
PRODUCTS: list[Any] = [
    torch.mul,
    Tensor.mul,
    Tensor.__mul__,
    torch.matmul,
    Tensor.matmul,
    Tensor.__matmul__,
    torch.bmm,
]
SUMS: list[Any] = [torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__]


@dataclass
class Ledger:
    """Relevance that does not reach the inputs, by operation in the order of the forward pass.

    Attributes:
        biases: relevance that the bias of each operation absorbed.
        epsilons: relevance that the stabiliser of each operation absorbed.

    >>> ledger = Ledger()
    >>> entry = ledger.add_entry()
    >>> ledger.biases[entry] += 0.5
    >>> ledger.absorbed_since(entry)
    (0.5, 0.0)
    """

    biases: list[float] = field(default_factory=list)
    epsilons: list[float] = field(default_factory=list)

    def add_entry(self) -> int:
        """Add an entry for the next operation and return its number."""
        self.biases.append(0.0)
        self.epsilons.append(0.0)
        return len(self.biases) - 1

    def absorbed_since(self, entry: int) -> tuple[float, float]:
        """Relevance that biases and epsilons absorbed in this entry and all later ones."""
        return sum(self.biases[entry:]), sum(self.epsilons[entry:])

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Begin at zero for the time of a `with`, and forget what was recorded in it."""
        before = self.biases, self.epsilons
        self.biases, self.epsilons = ([0.0] * len(self.biases) for _ in range(2))
        try:
            yield
        finally:
            self.biases, self.epsilons = before


class _Linear(torch.autograd.Function):
    """A linear map that distributes relevance by the epsilon rule."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        """Arguments: input, weight, bias, ledger, epsilon."""
        inputs, weight, bias, ledger, ctx.epsilon = arguments
        output = functional.linear(inputs, weight, bias)
        ctx.save_for_backward(output, weight, bias)
        ctx.ledger, ctx.entry = ledger, ledger.add_entry()
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradient of the input, which times the input is its relevance."""
        (gradient,), (output, weight, bias) = gradients, ctx.saved_tensors
        stabiliser = torch.where(output < 0, -ctx.epsilon, ctx.epsilon)
        distributed = gradient * output / (output + stabiliser)
        if bias is not None:
            ctx.ledger.biases[ctx.entry] += float((distributed * bias).double().sum())
        absorbed = (gradient - distributed).double() * output.double()
        ctx.ledger.epsilons[ctx.entry] += float(absorbed.sum())
        return distributed @ weight, None, None, None, None


class _AddBias(torch.autograd.Function):
    """The addition of a bias, which absorbs its part of the relevance."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        """Arguments: input, bias, ledger."""
        inputs, bias, ledger = arguments
        ctx.save_for_backward(bias)
        ctx.ledger, ctx.entry = ledger, ledger.add_entry()
        return inputs + bias

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The same gradient."""
        (gradient,), (bias,) = gradients, ctx.saved_tensors
        ctx.ledger.biases[ctx.entry] += float((gradient * bias).double().sum())
        return gradient, None, None


def _apply(function: Any, *arguments: Any) -> Tensor:
    output: Tensor = function.apply(*arguments)
    return output


def pass_through(inputs: Tensor, output: Tensor) -> Tensor:
    """The output of an activation, with a gradient that passes all relevance on to its input.

    Args:
        inputs: input of the activation, any shape.
        output: its output, of the same shape.
    """
    constant = inputs.detach()
    ratio = torch.where(
        constant.abs() > 1e-12, output.detach() / constant, torch.zeros_like(constant)
    )
    return torch.addcmul(output.detach(), inputs - constant, ratio)  # its terms need no rule


class RelevanceRules(TorchFunctionMode):
    """Replaces operations by their rules of relevance for the duration of a `with`."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.ledger, self.epsilon = Ledger(), epsilon
        self._rules: dict[Any, Callable[..., Any]] = {
            functional.linear: self._linear,
            torch.addmm: lambda bias, inputs, weight: self._linear(inputs, weight.T, bias),
            functional.layer_norm: self._layer_norm,
            torch.layer_norm: self._layer_norm,
            functional.scaled_dot_product_attention: self._attention,
            functional.cosine_similarity: self._cosine,
        }
        self._rules |= {function: self._constant(function) for function in CONSTANTS}
        self._rules |= {function: self._activation(function) for function in ACTIVATIONS}
        self._rules |= {function: self._product(function) for function in PRODUCTS}
        self._rules |= {function: self._sum(function) for function in SUMS}

    def __torch_function__(
        self, function: Any, types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        return self._rules.get(function, function)(*arguments, **(options or {}))

    def _linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return _apply(_Linear, inputs, weight, bias, self.ledger, self.epsilon)

    def _layer_norm(
        self, inputs: Tensor, shape: Any, weight: Tensor | None = None, *rest: Any, **options: Any
    ) -> Tensor:
        """LayerNorm whose normaliser is a constant."""
        bias, eps = (*rest, *(None, 1e-5)[len(rest) :])[:2]
        bias, eps = options.get("bias", bias), options.get("eps", eps)
        axes = tuple(range(-len(shape), 0))
        centred = inputs - inputs.mean(axes, keepdim=True)
        normaliser = (centred.detach().pow(2).mean(axes, keepdim=True) + eps).rsqrt()
        output: Tensor = centred * normaliser
        output = output if weight is None else output * weight
        return output if bias is None else _apply(_AddBias, output, bias, self.ledger)

    def _attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        **options: Any,
    ) -> Tensor:
        """Attention whose weights are constants."""
        if options.get("enable_gqa"):
            groups = query.shape[-3] // key.shape[-3]
            key, value = (tensor.repeat_interleave(groups, -3) for tensor in (key, value))
        scale = options.get("scale") or query.shape[-1] ** -0.5
        scores = query.detach() @ key.detach().mT * scale
        if options.get("is_causal"):
            attn_mask = torch.ones_like(scores[0, 0], dtype=torch.bool).tril()
        if attn_mask is not None and attn_mask.dtype is torch.bool:
            scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
        elif attn_mask is not None:
            scores = scores + attn_mask
        return torch.softmax(scores, -1) @ value

    def _cosine(self, x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
        """Cosine similarity: norms are constants, both factors of the product get half."""

        def normalised(vector: Tensor) -> Tensor:
            norm: Tensor = vector.detach().norm(dim=dim, keepdim=True)
            return vector / norm.clamp_min(eps)

        first, second = normalised(x1), normalised(x2)
        product: Tensor = (first * second.detach() + first.detach() * second) / 2
        return product.sum(dim)

    @staticmethod
    def _constant(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda *arguments, **options: function(*arguments, **options).detach()

    @staticmethod
    def _activation(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def activation(inputs: Tensor, *arguments: Any, **options: Any) -> Tensor:
            return pass_through(inputs, function(inputs.detach(), *arguments, **options))

        return activation

    @staticmethod
    def _product(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def product(left: Any, right: Any, **options: Any) -> Tensor:
            if not (_follows(left) and _follows(right)):
                return function(left, right, **options)
            of_left = function(left, right.detach(), **options)
            halves: Tensor = (of_left + function(left.detach(), right, **options)) / 2
            return halves

        return product

    def _sum(self, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """A sum, of which a constant term absorbs its part as a bias does."""

        def add(left: Any, right: Any, **options: Any) -> Tensor:
            terms = [left, right] if _follows(left) else [right, left]
            if options or not _follows(terms[0]) or _follows(terms[1]):
                return function(left, right, **options)
            constant = torch.as_tensor(terms[1], dtype=terms[0].dtype, device=terms[0].device)
            return _apply(_AddBias, terms[0], constant, self.ledger)

        return add


def _follows(term: Any) -> bool:
    """Whether relevance is handed down to a term."""
    return isinstance(term, Tensor) and term.requires_grad
