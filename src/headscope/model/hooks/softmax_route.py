"""Models that call no attention function: their attention is found among the operations they run.

Inside the network's forward, the softmax over scores is remembered, and the product of its result
with the value vectors is where heads are seen and changed. It needs to know no module of the
family; loading compares what is seen with what the model itself returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from headscope.errors import ModelError
from headscope.model.hooks.attention_function import eager
from headscope.model.hooks.product_layouts import (
    BLOCKS,
    Layout,
    Whole,
    by_equation,
    in_blocks,
    in_windows,
)

SOFTMAX = {functional.softmax, torch.softmax, Tensor.softmax}
PRODUCTS = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm}
PASSING = {functional.dropout, torch.dropout, Tensor.masked_fill, torch.masked_fill}
PASSING |= {Tensor.to, Tensor.type, Tensor.type_as}
"""Operations between the softmax and the product that leave weights weights."""
MASKED = 5e3
"""A score that is this far below the largest of its row is masked."""
WINDOWED = "_sliding_chunks_matmul_attn_probs_value"
"""The method that multiplies weights and values in the modules that attend in windows."""
Multiply = Callable[[Tensor, Tensor], Tensor]
"""Takes weights and value vectors in the model's own layout, and returns outputs in it."""
Product = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""Takes weights (example, head, query, key), visible (example, 1, query, key), value (example, head
or group, key, size) and outputs (example, query, head, size), and returns outputs."""


class SoftmaxRoute(TorchFunctionMode):
    """Shows every product of attention weights and value vectors while a network runs.

    Args:
        examples, tokens: texts in the batch, and the length of the longest.
        product: sees, and may change, the outputs of the heads of a layer.
    """

    def __init__(self, examples: int, tokens: int, product: Product) -> None:
        super().__init__()
        self.examples, self.tokens, self.product = examples, tokens, product
        self._weights: Tensor | None = None
        self._scores: Tensor | None = None

    def __torch_function__(
        self, function: Any, types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        options = options or {}
        if self._weights is not None:
            if function in PRODUCTS and _same(arguments[0], self._weights):
                weights, value = arguments
                return self._multiply(function, weights, value, Whole(self.examples))
            if function is torch.einsum and _same(arguments[1], self._weights):
                equation, weights, value = arguments
                multiply = partial(torch.einsum, equation)
                layout = self._layout(equation, weights)
                return self._multiply(multiply, weights, value, layout)
        result = function(*arguments, **options)
        if function in SOFTMAX and isinstance(result, Tensor) and result.dim() in (3, 4, 5):
            self._weights, self._scores = result, arguments[0]
        elif function in PASSING and _same(arguments[0], self._weights):
            self._weights = result
        return result

    def _layout(self, equation: str, weights: Tensor) -> Layout:
        """The layout of a product that is written as an equation."""
        if equation != BLOCKS:
            return by_equation(equation, self.examples)
        _, blocks, _, block, columns = weights.shape
        if columns != 3 * block:
            raise ModelError(
                f"each of its blocks of {block} tokens attends to {columns} things, not to "
                "itself and the two blocks beside it alone"
            )
        return in_blocks(blocks, block, self.tokens, weights.device)

    def in_windows(self, multiply: Multiply, weights: Tensor, value: Tensor) -> Tensor:
        """The product of a model that attends in windows, (example, query, head, ...)."""
        if not _same(weights, self._weights):
            raise ModelError(
                "some of its tokens attend to the whole text, the others in windows; headscope "
                "reads such a model only where no token has this global attention"
            )
        _, rows, _, columns = weights.shape
        layout = in_windows(rows, columns, self.tokens, weights.device)
        return self._multiply(multiply, weights, value, layout)

    def _multiply(self, multiply: Multiply, used: Tensor, value: Tensor, layout: Layout) -> Tensor:
        """A product of weights and values, which everybody sees and may change."""
        own, scores = self._weights, self._scores
        assert own is not None
        assert scores is not None
        self._weights = self._scores = None
        weights = layout.weights(own)
        used = layout.own_weights(weights, used).to(used)  # what is shown is part of the graph
        result = multiply(used, value)
        outputs = layout.outputs(result).transpose(1, 2)
        visible = _visible(layout.scores(scores))
        changed = self.product(weights, visible, layout.values(value), outputs)
        if changed is outputs and not torch.is_grad_enabled():
            return result
        return layout.own_outputs(changed.transpose(1, 2), result)


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


def _windows(route: SoftmaxRoute, method: Any) -> Any:
    """What a module that attends in windows calls instead of its method."""

    def multiply(weights: Tensor, value: Tensor, reach: int) -> Tensor:
        return route.in_windows(lambda *both: method(*both, reach), weights, value)

    return multiply


@contextmanager
def replaced_products(network: PreTrainedModel, product: Product) -> Iterator[None]:
    """Have `product` see every layer whenever a network runs, for the time of a `with`."""
    forward = network.forward
    windowed = [module for module in network.modules() if hasattr(module, WINDOWED)]

    def run(*arguments: Any, **options: Any) -> Any:
        inputs = options.get("input_ids", options.get("inputs_embeds"))
        inputs = arguments[0] if inputs is None else inputs
        with ExitStack() as undo:
            examples, tokens = inputs.shape[:2]
            route = undo.enter_context(SoftmaxRoute(examples, tokens, product))
            for module in windowed:
                setattr(module, WINDOWED, _windows(route, getattr(module, WINDOWED)))
                undo.callback(delattr, module, WINDOWED)
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
