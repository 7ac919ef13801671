"""Models that call no attention function: their attention is found among the operations they run.

Inside the network's forward, the softmax over scores is remembered, and the product of its result
with the value vectors is where heads are seen and changed. It needs to know no module of the
family; loading compares what is seen with what the model itself returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from headscope.model.hooks.attention_function import eager

SOFTMAX = {functional.softmax, torch.softmax, Tensor.softmax}
PRODUCTS = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm}
PASSING = {functional.dropout, torch.dropout, Tensor.masked_fill, torch.masked_fill}
PASSING |= {Tensor.to, Tensor.type, Tensor.type_as}
"""Operations between the softmax and the product that leave weights weights."""
MASKED = 5e3
"""A score that is this far below the largest of its row is masked."""
Product = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""Takes weights (example, head, query, key), visible (example, 1, query, key), value (example, head
or group, key, size) and outputs (example, query, head, size), and returns outputs."""


class SoftmaxRoute(TorchFunctionMode):
    """Shows every product of attention weights and value vectors while a network runs.

    Args:
        examples: texts in the batch.
        product: sees, and may change, the outputs of the heads of a layer.
    """

    def __init__(self, examples: int, product: Product) -> None:
        super().__init__()
        self.examples, self.product = examples, product
        self._weights: Tensor | None = None
        self._scores: Tensor | None = None

    def __torch_function__(
        self, function: Any, types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        options = options or {}
        if self._weights is not None:
            if function in PRODUCTS and _same(arguments[0], self._weights):
                return self._multiply(function, *arguments)
            if function is torch.einsum and _same(arguments[1], self._weights):
                return self._multiply(_einsum(arguments[0]), *arguments[1:])
        result = function(*arguments, **options)
        if function in SOFTMAX and isinstance(result, Tensor) and result.dim() in (3, 4):
            self._weights, self._scores = result, arguments[0]
        elif function in PASSING and _same(arguments[0], self._weights):
            self._weights = result
        return result

    def _multiply(self, function: Any, used: Tensor, value: Tensor) -> Tensor:
        """A product of weights and values, which everybody sees and may change."""
        weights, scores = self._weights, self._scores
        assert weights is not None
        assert scores is not None
        self._weights = self._scores = None
        weights = self._by_head(weights)
        used = weights.reshape(used.shape).to(used)  # what is shown is part of the graph
        result: Tensor = function(used, value)
        in_order = getattr(function, "in_order", _as_it_is)
        outputs = self._by_head(in_order.outputs(result)).transpose(1, 2)
        values = self._by_head(in_order.values(value))
        changed = self.product(weights, _visible(self._by_head(scores)), values, outputs)
        if changed is outputs and not torch.is_grad_enabled():
            return result
        changed = changed.transpose(1, 2)
        back: Tensor = in_order.back(changed)
        return back.reshape(result.shape)

    def _by_head(self, tensor: Tensor) -> Tensor:
        """(example, head, ...) from the same, or from (example * head, ...)."""
        if tensor.dim() == 4:
            return tensor
        return tensor.view(self.examples, -1, *tensor.shape[1:])


@dataclass(frozen=True)
class _Order:
    """How the axes of value vectors and outputs stand in a product.

    Attributes:
        value, output: where to find (example, head, token, size); None: in this order.
    """

    value: tuple[int, ...] | None = None
    output: tuple[int, ...] | None = None

    def values(self, value: Tensor) -> Tensor:
        """(example, head, key, size)."""
        return value if self.value is None else value.permute(self.value)

    def outputs(self, result: Tensor) -> Tensor:
        """(example, head, query, size)."""
        return result if self.output is None else result.permute(self.output)

    def back(self, outputs: Tensor) -> Tensor:
        """Outputs in the order of the product."""
        if self.output is None:
            return outputs
        places = sorted(range(len(self.output)), key=self.output.__getitem__)
        return outputs.permute(places)


_as_it_is = _Order()


class _Einsum:
    """A product that is written as an equation, such as `bnij,jbnd->ibnd`."""

    def __init__(self, equation: str) -> None:
        self.equation = equation.replace(" ", "")
        weights, value, output = self.equation.replace("->", ",").split(",")
        example, head, query, key = list(weights)
        (size,) = set(value) - set(weights)
        self.in_order = _Order(
            tuple(value.index(letter) for letter in (example, head, key, size)),
            tuple(output.index(letter) for letter in (example, head, query, size)),
        )

    def __call__(self, weights: Tensor, value: Tensor) -> Tensor:
        return torch.einsum(self.equation, weights, value)


@cache
def _einsum(equation: str) -> _Einsum:
    return _Einsum(equation)


@torch.no_grad()
def _visible(scores: Tensor) -> Tensor:
    """(example, 1, query, key) the keys that any head of a query may see."""
    return (scores - scores.amax(-1, keepdim=True) > -MASKED).any(1, keepdim=True)


@torch.no_grad()
def _same(tensor: Any, weights: Tensor | None) -> bool:
    """Whether a tensor is the weights, as they are, in another shape or another precision."""
    if weights is None or not isinstance(tensor, Tensor) or tensor.numel() != weights.numel():
        return False
    if tensor.data_ptr() == weights.data_ptr():
        return True
    same_shape = tensor.shape[-2:] == weights.shape[-2:]
    return same_shape and torch.equal(tensor.reshape(weights.shape).to(weights), weights)


@contextmanager
def replaced_products(network: PreTrainedModel, product: Product) -> Iterator[None]:
    """Have `product` see every layer whenever a network runs, for the time of a `with`."""
    forward = network.forward

    def run(*arguments: Any, **options: Any) -> Any:
        inputs = options.get("input_ids", options.get("inputs_embeds"))
        inputs = arguments[0] if inputs is None else inputs
        with SoftmaxRoute(len(inputs), product):
            return forward(*arguments, **options)

    earlier = vars(network).get("forward")
    network.forward = run
    try:
        with eager(network):
            yield
    finally:
        if earlier is None:
            del network.forward
        else:
            network.forward = earlier
