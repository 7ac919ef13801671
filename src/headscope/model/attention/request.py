"""What a request is: a quantity of rows of attention, computed a block of rows at a time."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from headscope._util.tensors import torch
from headscope.model.attention.seen import Best
from headscope.model.attention.view import View

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.model.attention.blocks import Block


class Request:
    """A quantity of the rows of a site.

    It makes room (`begin`), sees the rows a block at a time (`add`) and gives its answer (`end`);
    whatever is kept between blocks is in the state.

    Attributes:
        over: (example, query, group) what each row counts in the sums of each group; None: rows
            are not summed. The requests of headscope take (example, query) for one group.
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

    def baseline(self, view: View) -> Any:
        """The answer of a head that knows nothing, (example, 1, ...), where an even row misleads.

        None, as here: that of a head that attends to all it sees alike. The place of the largest
        weight, for one, is the first of an even row, and not any place that is as good.
        """
        return None

    def cost(self, view: View, heads: int) -> int:
        """Bytes of an answer that grows with the square of the length."""
        return 0

    @property
    def constant(self) -> bool:
        """Whether it is the same request at every site, so that it has one baseline."""
        return True

    def equals(self, other: Request) -> bool:
        """Whether two requests have the same answer: those of equal fields, whoever asks.

        >>> from headscope.model.attention import Mass
        >>> Mass(torch.ones(1, 2, 1)).equals(Mass(torch.ones(1, 2, 1)))
        True
        """
        if type(self) is not type(other):
            return False
        if not hasattr(self, "__dataclass_fields__"):
            return self is other
        names = [part.name for part in fields(self)]  # type: ignore[arg-type]  # checked above
        return all(_equal(getattr(self, name), getattr(other, name)) for name in names)


def _equal(value: object, other: object) -> bool:
    if not isinstance(value, torch.Tensor) or not isinstance(other, torch.Tensor):
        return value is other or (not isinstance(value, torch.Tensor) and value == other)
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
