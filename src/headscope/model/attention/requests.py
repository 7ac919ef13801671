"""Quantities of rows of attention that an analysis can ask for.

A row is one query's weights over its keys. A request of a plug-in's own is as good as these: it
makes room (`begin`), sees the rows a block at a time (`add`) and gives its answer (`end`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from headscope.model.attention.seen import Best
from headscope.model.attention.view import View, in_band

if TYPE_CHECKING:
    from headscope.model.attention.blocks import Block


class Request:
    """A quantity of the rows of a site. Whatever is kept between blocks is in the state.

    Attributes:
        over: (example, query, group) what each row counts in the sums of each group; None: rows
            are not summed. (example, query) stands for one group.
        words: None for rows of pieces; for rows of words "mean" or "first", which says how a word
            of several pieces looks (Clark et al. 2019, section 4.1).
        visits: 2 where the rows must be seen again after all have been seen.
    """

    over: Tensor | None = None
    words: str | None = None
    visits: ClassVar[int] = 1

    def begin(self, view: View, heads: int) -> Any:
        """Make room for what is kept between blocks."""
        raise NotImplementedError

    def add(self, state: Any, block: Block) -> None:
        """See a block of rows."""
        raise NotImplementedError

    def turn(self, state: Any, visit: int) -> None:
        """All rows have been seen for the `visit`-th time."""

    def end(self, state: Any) -> Any:
        """The answer."""
        return state

    def counts(self, view: View) -> Tensor:
        """(example, 1, ...) how many rows are in each of the sums."""
        if self.over is None:
            raise TypeError(f"{type(self).__name__} without `over` gives rows, not sums")
        return (self.over != 0).sum(1)[:, None]

    def cost(self, view: View, heads: int) -> int:
        """Bytes of an answer that grows with the square of the length."""
        return 0

    @property
    def constant(self) -> bool:
        """Whether it is the same request at every site, so that it has one baseline."""
        return True

    def equals(self, other: Request) -> bool:
        """Whether two requests have the same answer."""
        if type(self) is not type(other):
            return False
        if not hasattr(self, "__dataclass_fields__"):
            return self is other
        names = [part.name for part in fields(self)]  # type: ignore[arg-type]
        return all(_equal(getattr(self, name), getattr(other, name)) for name in names)


def _equal(value: object, other: object) -> bool:
    if not isinstance(value, Tensor) or not isinstance(other, Tensor):
        return value is other or (not isinstance(value, Tensor) and value == other)
    if value is other:
        return True
    return value.shape == other.shape and value.dtype == other.dtype and torch.equal(value, other)


def grouped(over: Tensor | None) -> Tensor | None:
    """(example, query, group) from the same, or from (example, query)."""
    return over.unsqueeze(-1) if over is not None and over.dim() == 2 else over


def rows_of(view: View, words: str | None) -> tuple[int, int]:
    """How many examples there are, and rows of each."""
    examples, rows = (view.queries.words if words else view.queries.real).shape
    return examples, rows


def keys_of(view: View, words: str | None) -> int:
    """How many keys a row has."""
    return int((view.keys.words if words else view.keys.real).shape[1])


def zeros(view: View, *shape: int) -> Tensor:
    """Room on the device of a view."""
    return torch.zeros(shape, device=view.queries.ids.device)


def nothing(value: Tensor) -> Best:
    """Largest weights of 0 at no place."""
    return Best(value, torch.full(value.shape, -1, device=value.device))


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
        keys = (self.keys if isinstance(self.keys, Tensor) else self.keys()).float()
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
        return isinstance(self.keys, Tensor)

    def counts(self, view: View) -> Tensor:
        columns = (self.keys if isinstance(self.keys, Tensor) else self.keys()).shape[-1]
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
