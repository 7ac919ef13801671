"""How the product of attention weights and value vectors stands in a model's own tensors.

Heads are shown in one order: weights (example, head, query, key), value vectors (example, head,
key, size), outputs (example, head, query, size). Some models multiply in another order of axes;
some compute, for each query, only the keys near it. A layout translates both ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

BLOCKS = "...hqk,...khd->...qhd"
"""The product of a model that attends in blocks of queries (LongT5)."""


class Layout(Protocol):
    """Translates between a model's tensors and the order in which heads are shown."""

    def weights(self, own: Tensor) -> Tensor:
        """(example, head, query, key) weights; none for a key that the model does not compute."""

    def scores(self, own: Tensor) -> Tensor:
        """The same of scores, which are the lowest for such a key."""

    def own_weights(self, weights: Tensor, like: Tensor) -> Tensor:
        """Weights as the model has them."""

    def values(self, own: Tensor) -> Tensor:
        """(example, head or group, key, size) value vectors."""

    def outputs(self, own: Tensor) -> Tensor:
        """(example, head, query, size) outputs."""

    def own_outputs(self, outputs: Tensor, like: Tensor) -> Tensor:
        """Outputs as the model has them."""


@dataclass(frozen=True)
class Whole:
    """Every query with every key; (example, head, ...) or (example * head, ...).

    Attributes:
        value, output: where to find (example, head, token, size); None: in this order.
    """

    examples: int
    value: tuple[int, ...] | None = None
    output: tuple[int, ...] | None = None

    def weights(self, own: Tensor) -> Tensor:
        """(example, head, query, key) weights."""
        return self._by_head(own)

    def scores(self, own: Tensor) -> Tensor:
        """(example, head, query, key) scores."""
        return self._by_head(own)

    def own_weights(self, weights: Tensor, like: Tensor) -> Tensor:
        """Weights as the model has them."""
        return weights.reshape(like.shape)

    def values(self, own: Tensor) -> Tensor:
        """(example, head or group, key, size) value vectors."""
        return self._by_head(own if self.value is None else own.permute(self.value))

    def outputs(self, own: Tensor) -> Tensor:
        """(example, head, query, size) outputs."""
        return self._by_head(own if self.output is None else own.permute(self.output))

    def own_outputs(self, outputs: Tensor, like: Tensor) -> Tensor:
        """Outputs as the model has them."""
        if self.output is not None:
            outputs = outputs.permute(sorted(range(4), key=self.output.__getitem__))
        return outputs.reshape(like.shape)

    def _by_head(self, tensor: Tensor) -> Tensor:
        if tensor.dim() == 4:
            return tensor
        return tensor.view(self.examples, -1, *tensor.shape[1:])


def by_equation(equation: str, examples: int) -> Whole:
    """The layout of a product that is written as an equation.

    >>> by_equation("bnij,jbnd->ibnd", 1).output
    (1, 2, 0, 3)
    """
    weights, value, output = equation.replace(" ", "").replace("->", ",").split(",")
    example, head, query, key = list(weights)
    (size,) = set(value) - set(weights)
    return Whole(
        examples,
        tuple(value.index(letter) for letter in (example, head, key, size)),
        tuple(output.index(letter) for letter in (example, head, query, size)),
    )


@dataclass(frozen=True)
class Near:
    """Keys near each query: a row of weights begins at the first key that its query may see.

    The model pads texts to whole windows or blocks; what it computes for that padding is not shown.

    Attributes:
        first: (query,) the key of the first column in the row of a query; may lie before the text.
        columns: keys in a row.
        tokens: tokens of the text.
        blocks: whether queries come in blocks, (example, block, head, query, column), or else one
            by one, (example, query, head, column).
    """

    first: Tensor
    columns: int
    tokens: int
    blocks: bool = False

    def weights(self, own: Tensor) -> Tensor:
        """(example, head, query, key) weights."""
        return self._by_key(own, 0.0)

    def scores(self, own: Tensor) -> Tensor:
        """(example, head, query, key) scores."""
        return self._by_key(own, -torch.inf)

    def _by_key(self, own: Tensor, outside: float) -> Tensor:
        rows = own.transpose(1, 2)
        rows = rows.flatten(2, 3) if self.blocks else rows
        keys = torch.arange(self.tokens, device=own.device)
        column = keys - self.first[: self.tokens, None]
        inside = (column >= 0) & (column < self.columns)
        column = column.clamp(0, self.columns - 1).expand(*rows.shape[:2], -1, -1)
        return rows[:, :, : self.tokens].gather(-1, column).masked_fill(~inside, outside)

    def own_weights(self, weights: Tensor, like: Tensor) -> Tensor:
        """Weights as the model has them; none for its padding."""
        key = self.first[: self.tokens, None] + torch.arange(self.columns, device=weights.device)
        inside = (key >= 0) & (key < self.tokens)
        key = key.clamp(0, self.tokens - 1).expand(*weights.shape[:2], -1, -1)
        rows = weights.gather(-1, key).masked_fill(~inside, 0.0)
        rows = functional.pad(rows, (0, 0, 0, len(self.first) - self.tokens))
        if self.blocks:
            rows = rows.view(*rows.shape[:2], like.shape[1], like.shape[3], self.columns)
        return rows.transpose(1, 2)

    def values(self, own: Tensor) -> Tensor:
        """(example, head, key, size) value vectors."""
        if self.blocks:  # of each block with the one before and the one after
            own = own.chunk(3, 2)[1].flatten(1, 2)
        return own[:, : self.tokens].transpose(1, 2)

    def outputs(self, own: Tensor) -> Tensor:
        """(example, head, query, size) outputs."""
        own = own.flatten(1, 2) if self.blocks else own
        return own[:, : self.tokens].transpose(1, 2)

    def own_outputs(self, outputs: Tensor, like: Tensor) -> Tensor:
        """Outputs as the model has them; zero for its padding."""
        rows = outputs.transpose(1, 2)
        padded = functional.pad(rows, (0, 0, 0, 0, 0, len(self.first) - self.tokens))
        return padded.reshape(like.shape)


def in_windows(rows: int, columns: int, tokens: int, device: torch.device) -> Near:
    """A window around each query: as many keys before it as after it (LED, Longformer).

    >>> windows = in_windows(4, 3, 3, torch.device("cpu"))
    >>> windows.weights(torch.ones(1, 4, 1, 3))[0, 0].int().tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    return Near(torch.arange(rows, device=device) - columns // 2, columns, tokens)


def in_blocks(blocks: int, block: int, tokens: int, device: torch.device) -> Near:
    """Queries in blocks, each of which may see its block, the one before and the one after.

    >>> three = in_blocks(3, 1, 3, torch.device("cpu"))
    >>> three.weights(torch.ones(1, 3, 1, 1, 3))[0, 0].int().tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    number = torch.arange(blocks * block, device=device) // block
    return Near((number - 1) * block, 3 * block, tokens, blocks=True)


def as_whole(returned: Tensor, like: Tensor) -> Tensor:
    """The maps that a model returns, with every key of the text if it computes only near ones.

    Args:
        returned: in any layout; one that is not known comes back as it is.
        like: (example, head, query, key) maps of the same layer.
    """
    if returned.shape == like.shape:
        return returned
    heads, tokens = like.shape[1:3]
    if returned.dim() == 5 and returned.shape[4] == 3 * returned.shape[3]:
        _, blocks, _, block, _ = returned.shape
        return in_blocks(blocks, block, tokens, returned.device).weights(returned)
    if returned.dim() != 4 or heads not in returned.shape[1:3]:
        return returned
    own = returned.transpose(1, 2) if returned.shape[1] == heads else returned
    _, rows, _, columns = own.shape
    if columns % 2 == 0 or rows < tokens:
        return returned
    return in_windows(rows, columns, tokens, own.device).weights(own)
