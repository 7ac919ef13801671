"""Quantities of rows of attention that an analysis can ask for.

A row is one query's weights over its keys. A plug-in's own request is written like these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headscope._util.tensors import torch
from headscope.model.attention.request import Request, grouped, keys_of, nothing, rows_of, zeros
from headscope.model.attention.seen import Best
from headscope.model.attention.view import View, in_band

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model.attention.blocks import Block


@dataclass(eq=False)
class Entropy(Request):
    """Entropy of each row in nats: (example, head, query), or summed (example, head, group)."""

    over: Tensor | None = None
    words: str | None = None

    def __post_init__(self) -> None:
        self.over = grouped(self.over)

    def begin(self, view: View, heads: int) -> Tensor:
        examples, rows = rows_of(view, self.words)
        return zeros(view, examples, heads, rows if self.over is None else self.over.shape[-1])

    def add(self, state: Tensor, block: Block) -> None:
        block.put(state, block.entropy, self.over)


@dataclass(eq=False)
class Mass(Request):
    """Attention to groups of keys: (example, head, query, column), or summed over queries
    (example, head, group, column).

    Attributes:
        keys: (example, key, column) what a weight on the key counts: 0 or 1, or any number. A
            function that returns it where it differs from site to site.
        together: the mean of the heads as one head.
    """

    keys: Tensor | Callable[[], Tensor]
    over: Tensor | None = None
    words: str | None = None
    together: bool = False

    def __post_init__(self) -> None:
        self.over = grouped(self.over)

    def begin(self, view: View, heads: int) -> tuple[Tensor, Tensor]:
        keys = (self.keys if isinstance(self.keys, torch.Tensor) else self.keys()).float()
        examples, rows = rows_of(view, self.words)
        size = rows if self.over is None else self.over.shape[-1]
        heads = 1 if self.together else heads
        return keys, zeros(view, examples, heads, size, keys.shape[-1])

    def add(self, state: tuple[Tensor, Tensor], block: Block) -> None:
        keys, store = state
        weights = block.mean_weights if self.together else block.weights
        mass = weights @ keys[block.examples, None, : weights.shape[-1]].to(weights.dtype)
        block.put(store, mass, self.over)

    def end(self, state: tuple[Tensor, Tensor]) -> Tensor:
        return state[1]

    @property
    def constant(self) -> bool:
        """Whether the keys are the same at every site."""
        return isinstance(self.keys, torch.Tensor)

    def counts(self, view: View) -> Tensor:
        columns = (self.keys if isinstance(self.keys, torch.Tensor) else self.keys()).shape[-1]
        return super().counts(view).unsqueeze(-1).expand(-1, -1, -1, columns)


@dataclass(eq=False)
class Band(Request):
    """The weight on the key at each offset from -width to width: (example, head, query, offset),
    or summed over queries (example, head, group, offset). Only where a text looks at itself; 0
    where there is no such key, or none that counts.

    Attributes:
        keys: (example, key) bool, the keys that count; None: all.
    """

    width: int
    over: Tensor | None = None
    words: str | None = None
    keys: Tensor | None = None

    def __post_init__(self) -> None:
        self.over = grouped(self.over)

    def begin(self, view: View, heads: int) -> Tensor:
        assert view.tokens is not None  # cross-attention has no offsets
        examples, rows = rows_of(view, self.words)
        size = rows if self.over is None else self.over.shape[-1]
        return zeros(view, examples, heads, size, 2 * self.width + 1)

    def add(self, state: Tensor, block: Block) -> None:
        near = block.band(self.width)
        if self.keys is not None:
            near = near * block.of(in_band(self.keys, self.width))[:, None]
        block.put(state, near, self.over)

    def counts(self, view: View) -> Tensor:
        """(example, 1, group, offset) the rows that have a visible key there."""
        if self.over is None:
            return super().counts(view)
        if self.words:
            text = view.tokens.words
            seen = in_band(torch.ones_like(text), self.width)
        else:
            seen = view.visible.band(self.width)
        if self.keys is not None:
            seen = seen & in_band(self.keys, self.width)
        counted = [(seen & part[..., None]).sum(1) for part in (self.over != 0).unbind(-1)]
        return torch.stack(counted, 1)[:, None]


@dataclass(eq=False)
class Largest(Request):
    """The largest weight of each row on some keys, and where: two of (example, head, query); or
    the largest weights summed (example, head, group).

    Attributes:
        keys: (example, key) bool, the keys to choose from.
        queries: (example, query) bool, the rows that choose; None: all.
        itself: whether a token (or word) may choose itself.
    """

    keys: Tensor
    over: Tensor | None = None
    words: str | None = None
    queries: Tensor | None = None
    itself: bool = True

    def __post_init__(self) -> None:
        self.over = grouped(self.over)

    def begin(self, view: View, heads: int) -> Any:
        examples, rows = rows_of(view, self.words)
        if self.over is not None:
            return zeros(view, examples, heads, self.over.shape[-1])
        return nothing(zeros(view, examples, heads, rows))

    def add(self, state: Any, block: Block) -> None:
        weights = block.weights if self.itself else block.without_itself()
        chosen = weights * self.keys[block.examples, None, None, : weights.shape[-1]]
        if self.queries is not None:
            chosen = chosen * block.of(self.queries)[:, None, :, None]
        value, place = chosen.max(-1)
        if self.over is not None:
            block.put(state, value, self.over)
            return
        block.put(state.value, value, None)
        block.put(state.place, place.masked_fill_(value == 0, -1), None)


@dataclass(eq=False)
class LargestFrom(Request):
    """The largest weight on each key from some queries, and whose: two of (example, head, key).

    Attributes:
        queries: (example, query) bool, the queries to choose from.
        keys: (example, key) bool, the keys that choose; None: all.
        itself: whether a token (or word) may choose itself.
    """

    queries: Tensor
    words: str | None = None
    keys: Tensor | None = None
    itself: bool = True

    def begin(self, view: View, heads: int) -> Best:
        return nothing(zeros(view, len(self.queries), heads, keys_of(view, self.words)))

    def add(self, state: Best, block: Block) -> None:
        weights = block.weights if self.itself else block.without_itself()
        size = weights.shape[-1]
        chosen = weights * block.of(self.queries)[:, None, :, None]
        if self.keys is not None:
            chosen = chosen * self.keys[block.examples, None, None, :size]
        value, place = chosen.max(2)
        best = state.value[block.examples, :, :size]
        whose = state.place[block.examples, :, :size]
        better = value > best
        best[better] = value[better].to(best.dtype)
        whose[better] = place[better] + block.start


@dataclass(eq=False)
class Received(Request):
    """The weight that each key receives from groups of queries: (example, head, group, key)."""

    over: Tensor
    words: str | None = None

    def __post_init__(self) -> None:
        self.over = self.over.unsqueeze(-1) if self.over.dim() == 2 else self.over

    def begin(self, view: View, heads: int) -> Tensor:
        size = keys_of(view, self.words)
        return zeros(view, len(self.over), heads, self.over.shape[-1], size)

    def add(self, state: Tensor, block: Block) -> None:
        weights = block.of(self.over).to(block.weights.dtype)
        size = block.weights.shape[-1]
        state[block.examples, ..., :size] += weights.mT.unsqueeze(1) @ block.weights
