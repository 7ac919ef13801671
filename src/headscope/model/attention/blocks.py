"""Rows of attention, a block of queries at a time: what a request is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headscope._util.tensors import torch

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model.attention.request import Request
    from headscope.model.attention.view import View


@dataclass
class Block:
    """The rows `start` to `stop` of some examples; rows and keys are tokens, or words.

    Attributes:
        view: who looks at whom.
        examples: which examples of the batch.
        weights: (example, head, row, key)
    """

    view: View
    examples: slice
    start: int
    stop: int
    weights: Tensor

    @cached_property
    def entropy(self) -> Tensor:
        """(example, head, row) in nats."""
        entropy: Tensor = torch.special.entr(self.weights)
        return entropy.sum(-1)

    @cached_property
    def mean_weights(self) -> Tensor:
        """(example, 1, row, key) the mean of the heads."""
        return self.weights.mean(1, keepdim=True)

    def without_itself(self) -> Tensor:
        """The weights without those of a token (or word) on itself."""
        rows = torch.arange(self.start, self.stop, device=self.weights.device)[:, None]
        keys = torch.arange(self.weights.shape[-1], device=self.weights.device)
        return self.weights * (rows != keys)

    def band(self, width: int) -> Tensor:
        """(example, head, row, 2 * width + 1) the weight on key row + offset; 0 for no such key."""
        size, device = self.weights.shape[-1], self.weights.device
        rows = torch.arange(self.start, self.stop, device=device)
        at = rows[:, None] + torch.arange(-width, width + 1, device=device)
        shape = (*self.weights.shape[:2], *at.shape)
        near = self.weights.gather(3, at.clamp(0, size - 1).expand(shape))
        return near * ((at >= 0) & (at < size))

    def of(self, values: Tensor) -> Tensor:
        """The part of (example, query, ...) that belongs to the rows of this block."""
        return values[self.examples, self.start : self.stop]

    def put(self, store: Tensor, rows: Tensor, over: Tensor | None) -> None:
        """Keep rows (example, head, row, ...) as they are, or add their weighted sums.

        Args:
            store: (example, head, query or group, ...)
            over: (example, query, group) what each row counts in each group.
        """
        if over is None:
            store[self.examples, :, self.start : self.stop] = rows
            return
        weights = self.of(over).to(rows.dtype)
        flat = rows.flatten(3) if rows.dim() > 3 else rows.unsqueeze(3)
        sums = torch.einsum("bhrc,brg->bhgc", flat, weights)
        store[self.examples] += sums.reshape(sums.shape[0], *store.shape[1:])


def visit(request: Request, view: View, heads: int, blocks: Callable[[], Iterable[Block]]) -> Any:
    """Show a request all rows, as often as it wants to see them.

    Args:
        blocks: gives the rows, a block at a time, from the first one on.
    """
    state = request.begin(view, heads)
    for number in range(1, request.visits + 1):
        for block in blocks():
            request.add(state, block)
        request.turn(state, number)
    return request.end(state)
