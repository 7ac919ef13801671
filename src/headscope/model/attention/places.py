"""Requests for weights at given places: single weights, whole rows, whole maps, value norms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from headscope._util.tensors import torch
from headscope.model.attention.request import Request, keys_of, rows_of, zeros
from headscope.model.attention.seen import Best
from headscope.model.attention.view import View

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model.attention.blocks import Block


@dataclass(eq=False)
class At(Request):
    """Weights at given places: (place, head).

    Attributes:
        example, query, key: (place,)
        into: (place,) sums the weights of places with the same number: (number, head); or, with
            `largest`, gives the largest of them and which of the places has it.
    """

    example: Tensor
    query: Tensor
    key: Tensor
    words: str | None = None
    into: Tensor | None = None
    largest: bool = False

    def begin(self, view: View, heads: int) -> dict[str, Any]:
        return {"weights": zeros(view, len(self.example), heads)}

    def add(self, state: dict[str, Any], block: Block) -> None:
        inside, example, query = inside_of(block, self.example, self.query)
        found = block.weights[example, :, query, self.key[inside]]
        state["weights"][inside] = found.to(state["weights"].dtype)

    def end(self, state: dict[str, Any]) -> Any:
        return self.join(state["weights"])

    def join(self, weights: Tensor) -> Any:
        """The answer, from (place, head)."""
        if self.into is None:
            return weights
        size = int(self.into.max()) + 1 if len(self.into) else 0
        total = weights.new_zeros(size, weights.shape[1])
        if not self.largest:
            return total.index_add_(0, self.into, weights)
        number = self.into[:, None].expand_as(weights)
        most = total.scatter_reduce_(0, number, weights, "amax")

        def place() -> Tensor:
            places = torch.arange(len(weights), device=weights.device)[:, None]
            none = len(weights)
            wins = (weights == most.gather(0, number)) & (weights > 0)
            first = torch.full(most.shape, none, device=weights.device)
            first.scatter_reduce_(0, number, torch.where(wins, places, none), "amin")
            return first.masked_fill_(first == none, -1)

        return Best(most, place)


def inside_of(block: Block, example: Tensor, query: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Which of some rows are in a block, and where in it: their examples and rows."""
    first, last, _ = block.examples.indices(len(block.view.queries.real))
    inside = (example >= first) & (example < last) & (query >= block.start) & (query < block.stop)
    return inside, example[inside] - first, query[inside] - block.start


@dataclass(eq=False)
class Rows(Request):
    """Whole rows of some queries: (row, head, key). Grows with their number times the length.

    Attributes:
        example, query: (row,)
        size: only so many keys, from the first on; None: all.
    """

    example: Tensor
    query: Tensor
    words: str | None = None
    size: int | None = None

    @staticmethod
    def whole(
        view: View,
        examples: Sequence[int] | None = None,
        *,
        size: int | None = None,
        words: str | None = None,
    ) -> WholeMaps:
        """The whole maps of some examples (None: all of the batch), to be shown or compared."""
        every = examples is None or list(examples) == list(range(len(view.queries.pieces)))
        return WholeMaps(None if every else tuple(examples or ()), words, size)

    def begin(self, view: View, heads: int) -> Tensor:
        return zeros(view, len(self.example), heads, self.width(view))

    def width(self, view: View) -> int:
        """How many keys of each row are kept."""
        return min(keys_of(view, self.words), self.size or 1 << 30)

    def add(self, state: Tensor, block: Block) -> None:
        inside, example, query = inside_of(block, self.example, self.query)
        rows = block.weights[example, :, query][..., : state.shape[-1]]
        state[inside, :, : rows.shape[-1]] = rows.to(state.dtype)

    def cost(self, view: View, heads: int) -> int:
        return 4 * len(self.example) * heads * self.width(view)


@dataclass(eq=False)
class WholeMaps(Request):
    """Whole maps of some examples: (example, head, query, key). See `Rows.whole`.

    Attributes:
        examples: which; None: all of the batch.
        size: only so many queries and keys, from the first on; None: all.
    """

    examples: tuple[int, ...] | None = None
    words: str | None = None
    size: int | None = None

    def shape(self, view: View, heads: int) -> tuple[int, int, int, int]:
        """Of the answer."""
        examples, rows = rows_of(view, self.words)
        many = examples if self.examples is None else len(self.examples)
        size = self.size or 1 << 30
        return many, heads, min(rows, size), min(keys_of(view, self.words), size)

    def begin(self, view: View, heads: int) -> Tensor:
        return zeros(view, *self.shape(view, heads))

    def add(self, state: Tensor, block: Block) -> None:
        first, last, _ = block.examples.indices(len(block.view.queries.real))
        stop = min(block.stop, state.shape[2])
        if stop <= block.start:
            return
        for place, example in enumerate(self.examples or range(first, last)):
            if first <= example < last:
                at = place if self.examples is not None else example
                rows = block.weights[example - first, :, : stop - block.start, : state.shape[3]]
                state[at, :, block.start : stop, : rows.shape[-1]] = rows

    def cost(self, view: View, heads: int) -> int:
        many, heads, rows, keys = self.shape(view, heads)
        return 4 * many * heads * rows * keys


@dataclass(eq=False)
class Norms(Request):
    """How much each key can give: (example, head, key), the norm of its value vector after the
    output projection (Kobayashi et al. 2020). Needs no rows.
    """

    visits: ClassVar[int] = 0

    def begin(self, view: View, heads: int) -> Any:
        raise TypeError("value norms are not made of rows of attention")
