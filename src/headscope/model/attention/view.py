"""Who looks at whom: all that is known of a batch before any weight is computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from headscope._util.tensors import torch
from headscope.model.attention.kinds import Kind
from headscope.model.batch import Batch

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.corpus import Pieces

Result = TypeVar("Result")
ALL = slice(None)


class Visible:
    """Which keys each query may see: padding, causality and windows in one mask.

    Args:
        mask: (example, 1, query, key) bool; expanded from (example, 1, 1, key) where all queries
            see the same keys.
        source: the mask as the model handed it over, kept so that its address stays its own.
    """

    def __init__(self, mask: Tensor, source: Tensor | None = None) -> None:
        self._mask, self._sources = mask, [source]
        self._bands: dict[int, Tensor] = {}

    @property
    def shape(self) -> tuple[int, int, int]:
        """(example, query, key)."""
        examples, _, queries, keys = self._mask.shape
        return examples, queries, keys

    @property
    def whole(self) -> Tensor:
        """(example, 1, query, key) the mask itself."""
        return self._mask

    def hold(self, source: Tensor | None) -> None:
        """Keep another mask that means the same, so that its address stays its own."""
        self._sources.append(source)

    @property
    def alike(self) -> bool:
        """Whether all queries of a text see the same keys."""
        return self._mask.stride(2) == 0 or self._mask.shape[2] == 1

    def mask(self, examples: slice = ALL, start: int = 0, stop: int | None = None) -> Tensor:
        """(example, 1, query, key) what the queries from `start` to `stop` see; one query stands
        for all of them where they see the same.
        """
        rows = slice(0, 1) if self.alike else slice(start, stop)
        return self._mask[examples, :, rows]

    @cached_property
    def count(self) -> Tensor:
        """(example, query) how many keys the query sees; 1 for padding that sees none."""
        seen = self.mask()[:, 0].sum(-1, dtype=torch.float32).clamp_min(1)
        return seen.expand(self.shape[:2])

    @cached_property
    def bias(self) -> Tensor:
        """(example, 1, query or 1, key) the mask as a term of scores: 0, or the lowest number."""
        mask = self.mask()
        lowest = torch.finfo(torch.float32).min
        return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, lowest)

    def mean(self, values: Tensor) -> Tensor:
        """(example, query, value) the mean of (example, key, value) over the visible keys.

        It is what a head gets that attends to all keys it sees alike.

        >>> causal = torch.ones(3, 3).tril().bool()[None, None]
        >>> Visible(causal).mean(torch.tensor([[[2.0], [4.0], [9.0]]])).flatten().tolist()
        [2.0, 3.0, 5.0]
        """
        totals = self.mask()[:, 0].to(values.dtype) @ values
        return (totals / self.count[:, : totals.shape[1], None]).expand(-1, self.shape[1], -1)

    def band(self, width: int) -> Tensor:
        """(example, query, 2 * width + 1) whether query i may see key i + offset."""
        if width not in self._bands:
            mask = self.mask()[:, 0]
            if self.alike:
                seen = in_band(mask[:, 0], width)
            else:
                sides = torch.nn.functional.pad(mask, (width, width))
                seen = sides.unfold(2, 2 * width + 1, 1).diagonal(dim1=1, dim2=2).mT
            inside = in_band(mask.new_ones(1, self.shape[1]), width)
            self._bands[width] = seen & inside
        return self._bands[width]

    @cached_property
    def spans(self) -> tuple[Tensor, Tensor, Tensor] | None:
        """(example, query) the first key that is seen and the one after the last, and (example,
        key) the keys that any query sees, where a row sees all of these between the two (padding,
        causality, windows); None where rows have gaps.
        """
        mask = self.mask()[:, 0]
        used, size = mask.any(1), mask.shape[-1]
        none = ~mask.any(-1)
        first = mask.byte().argmax(-1).masked_fill(none, 0)
        end = (size - mask.flip(-1).byte().argmax(-1)).masked_fill(none, 0)
        before = torch.nn.functional.pad(used.cumsum(1), (1, 0))
        whole = before.gather(1, end) - before.gather(1, first) == mask.sum(-1)
        if not bool(whole.all()):
            return None
        rows = self.shape[:2]
        return first.expand(rows), end.expand(rows), used

    @property
    def causal(self) -> bool:
        """Whether no query sees a later key (texts of one token tell nothing)."""
        return not self.alike and not bool(self._mask.triu(1).any())

    @cached_property
    def uniform(self) -> Tensor:
        """(example, 1, query, key) float64: the head that attends to all it sees alike."""
        return self._mask / self.count.double()[:, None, :, None]


@dataclass
class View:
    """Who looks at whom; one for all sites of a kind that share a mask, made anew for each batch.

    Attributes:
        kind: whose queries look at whose keys.
        queries, keys: the tokens of both sides; the same object where a text looks at itself.
        visible: which keys each query may see.
        scope: one dictionary for all views of a batch's way through the model, for what an
            analysis keeps from site to site.
    """

    kind: Kind
    queries: Batch
    keys: Batch
    visible: Visible
    scope: dict[Any, Any] = field(default_factory=dict, repr=False)
    _results: dict[Hashable, object] = field(default_factory=dict, repr=False)

    @property
    def tokens(self) -> Batch:
        """The tokens of a text that looks at itself; an error in cross-attention."""
        if self.queries is not self.keys:
            raise TypeError("cross-attention has two texts: use view.queries or view.keys")
        return self.queries

    @property
    def pieces(self) -> tuple[Pieces, ...]:
        """The texts that are looked at."""
        return self.keys.pieces

    @property
    def buckets(self) -> Tensor:
        """(example,) the bucket of evidence that each example belongs to."""
        return self.queries.buckets

    def once(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """What depends on texts and mask alone: computed for whoever asks first, then kept."""
        if key not in self._results:
            self._results[key] = compute()
        return cast(Result, self._results[key])


def in_band(keys: Tensor, width: int) -> Tensor:
    """(example, query, 2 * width + 1) whether the key at query + offset is among `keys`.

    Args:
        keys: (example, key) bool.

    >>> in_band(torch.tensor([[True, False]]), 1)[0].tolist()
    [[False, True, False], [True, False, False]]
    """
    return torch.nn.functional.pad(keys, (width, width)).unfold(1, 2 * width + 1, 1)
