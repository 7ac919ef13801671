"""The attention of one layer on one batch, and what analyses commonly ask of it.

Everything here is lazy and computed once, so that analyses that share a quantity share its cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from headscope._util.tensors import torch
from headscope.errors import ModelError
from headscope.model.batch import Batch
from headscope.model.hooks.workspace import Workspace
from headscope.model.words import WordAttention

if TYPE_CHECKING:
    from torch import Tensor

Result = TypeVar("Result")

TINY = 1e-30
"""Below this a float32 weight has too few digits to take the logarithm of."""
STRIDE = 32
"""Rows of a multiple of this length have their maximum found several times faster."""


class Visible:
    """Which keys each query may see in one layer: padding, causality and windows in one mask.

    Attributes:
        mask: (example, 1, query, key) bool.
    """

    def __init__(self, mask: Tensor, given: Tensor | None = None) -> None:
        self.mask = mask
        self.given = given  # as the model handed it over: kept, so that its memory stays its own
        self._bands: dict[int, Tensor] = {}
        self._known: dict[object, object] = {}

    def once(self, key: object, compute: Callable[[], Result]) -> Result:
        """What depends on the batch and on what is visible, but not on the layer's weights.

        Computed for the first layer that asks and kept for the others that see the same.
        """
        if key not in self._known:
            self._known[key] = compute()
        return cast(Result, self._known[key])

    @cached_property
    def count(self) -> Tensor:
        """(example, 1, query) how many keys the query sees; 1 for padding that sees none."""
        return self.mask.sum(-1, dtype=torch.float32).clamp_min(1)

    @cached_property
    def bias(self) -> Tensor:
        """The mask as something to add to scores: 0, or the lowest finite number.

        (example, 1, 1, key) where all queries see the same keys, else (example, 1, query, key).
        """
        mask = self.mask[:, :, :1] if self.mask.stride(2) == 0 else self.mask
        lowest = torch.finfo(torch.float32).min
        return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, lowest)

    def in_band(self, width: int) -> Tensor:
        """(example, query, 2 * width + 1) whether query i may see key i + offset."""
        if width not in self._bands:
            length = self.mask.shape[-1]
            inside = in_band(self.mask.new_ones(1, length), width)
            self._bands[width] = inside & (
                in_band(self.mask[:, 0, 0], width)
                if self.mask.stride(2) == 0
                else band(self.mask.float().contiguous(), width)[:, 0] > 0
            )
        return self._bands[width]

    @cached_property
    def uniform(self) -> Tensor:
        """(example, 1, query, key) the head that knows nothing: all visible keys alike."""
        return self.mask / self.count.unsqueeze(-1)


@dataclass
class LayerAttention:
    """What the heads of one layer do on one batch.

    Attributes:
        layer: counted from 0.
        weights: (example, head, query, key); rows of real queries sum to 1 over visible keys.
        visible: which keys each query may see.
        batch: the tokens that queries and keys stand for.
        scores: the logits of the weights where the tap saw them (cheaper entropy), else None.
        space: memory for what is needed in passing.
        given: gives `norms` where they can be seen.

    All of it is valid while it is being observed: the next layer uses the same memory.
    """

    layer: int
    weights: Tensor
    visible: Visible
    batch: Batch
    scores: Tensor | None = field(default=None, repr=False)
    space: Workspace = field(default_factory=Workspace, repr=False)
    given: Callable[[], Tensor] | None = field(default=None, repr=False)
    _words: dict[str, WordAttention] = field(default_factory=dict, repr=False)

    @cached_property
    def norms(self) -> Tensor:
        """(example, head, key) how much each token can give: the norm of its value vector after
        the output projection (Kobayashi et al. 2020).
        """
        if self.given is None:
            raise ModelError("there are no value vectors behind these weights")
        return self.given()

    def by_norm(self) -> LayerAttention:
        """The same with every weight times the norm of what is looked at, rows summing to 1."""
        weights = self.space.take("by norm", self.weights.shape, self.weights)
        torch.mul(self.weights, self.norms.unsqueeze(2), out=weights)
        weights /= weights.sum(-1, keepdim=True).clamp_min(TINY)
        return LayerAttention(
            self.layer, weights, self.visible, self.batch, None, self.space, self.given
        )

    def words(self, how: str = "mean") -> WordAttention:
        """Attention between words; from a split word the `mean` over its pieces, or the `first`."""
        if how not in self._words:
            self._words[how] = WordAttention(self.weights, self.batch.units, self.space, how)
        return self._words[how]

    @property
    def uniform(self) -> LayerAttention:
        """A layer of one head that attends to all visible keys alike: the baseline."""
        return LayerAttention(self.layer, self.visible.uniform, self.visible, self.batch)

    @cached_property
    def entropy(self) -> Tensor:
        """(example, head, query) entropy of each row in nats."""
        if self.scores is None:
            entropy: Tensor = torch.special.entr(self.weights)
            return entropy.sum(-1)
        # H = logsumexp(s) - sum(p s), and logsumexp(s) = s_j - log(p_j) for any key j: the first
        # one costs nothing, the largest serves where the first has (next to) no weight.
        weight, score = self.weights[..., 0], self.scores[..., 0]
        if bool((weight < TINY).any()):
            weight, score = self.weights.amax(-1), self.scores.amax(-1)
        normaliser = score - weight.log()
        expected: Tensor = torch.linalg.vecdot(self.weights, self.scores)
        return (normaliser - expected).clamp_min(0)

    @cached_property
    def peak(self) -> Tensor:
        """(example, head, query) the largest weight on a token of the text (no specials)."""
        return self.largest(self.batch.texts)

    @cached_property
    def received(self) -> Tensor:
        """(example, head, key) the attention that each token receives, from all real queries."""
        queries = self.batch.real[:, None, :, None].to(self.weights.dtype)
        scratch = self.space.take("scratch", self.weights.shape, self.weights)
        return torch.mul(self.weights, queries, out=scratch).sum(2)

    def mass(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Attention summed from groups of queries to groups of keys.

        Args:
            queries: (example, query group, query) 0 or 1.
            keys: (example, key, key group) 0 or 1.

        Returns:
            (example, head, query group, key group)
        """
        return queries.unsqueeze(1) @ self.weights @ keys.unsqueeze(1)

    def largest(self, keys: Tensor) -> Tensor:
        """(example, head, query) the largest weight on some keys; 0 where there are none.

        Args:
            keys: (example, key) bool.
        """
        if int(keys.sum(1).max()) == 1:  # one column each, such as that of the first special
            place = keys.byte().argmax(1)[:, None, None, None]
            column = self.weights.gather(3, place.expand(*self.weights.shape[:3], 1)).squeeze(3)
            return column * keys.any(1)[:, None, None]
        chosen = keys[:, None, None, :].to(self.weights.dtype)
        length = keys.shape[1]
        width = -(-length // STRIDE) * STRIDE
        scratch = self.space.take("scratch", (*self.weights.shape[:3], width), self.weights)
        torch.mul(self.weights, chosen, out=scratch[..., :length])
        scratch[..., length:] = 0
        return scratch.amax(-1)

    def band(self, width: int) -> Tensor:
        """(example, head, query, 2 * width + 1): the weight of query i on key i + offset.

        Offsets run from -width to width. Where there is no such key the element holds some
        other weight: multiply by `Visible.in_band` to take these out.
        """
        return band(self.weights, width)


def in_band(keys: Tensor, width: int) -> Tensor:
    """(example, query, 2 * width + 1) whether the key at query + offset is among `keys`.

    Args:
        keys: (example, key) bool.

    >>> in_band(torch.tensor([[True, False]]), 1)[0].tolist()
    [[False, True, False], [True, False, False]]
    """
    return torch.nn.functional.pad(keys, (width, width)).unfold(1, 2 * width + 1, 1)


def band(weights: Tensor, width: int) -> Tensor:
    """Diagonals of maps: (example, head, query, 2 * width + 1) from (example, head, query, key).

    A view where the memory around the weights allows it (`MARGIN`), else a copy. Rows may be
    longer than there are queries.
    """
    examples, heads, length, wide = weights.shape
    start = weights.storage_offset() - width
    room = weights.untyped_storage().nbytes() // weights.element_size()
    if not weights.is_contiguous() or start < 0 or room < start + weights.numel() + 2 * width:
        weights, start = torch.nn.functional.pad(weights.flatten(), (width, width)), 0
    one = length * wide
    shape = (examples, heads, length, 2 * width + 1)
    return weights.as_strided(shape, (heads * one, one, wide + 1, 1), start)
