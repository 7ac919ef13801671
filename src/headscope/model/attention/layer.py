"""The attention of one layer on one batch as whole maps, and what is commonly asked of them.

Everything is computed when it is first needed and once, so that requests that share a quantity
share its cost. Memory comes from the tap's workspace: the next layer uses it again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from headscope._util.tensors import torch
from headscope.errors import ModelError
from headscope.model.attention.blocks import Block
from headscope.model.attention.view import View
from headscope.model.hooks.workspace import Workspace
from headscope.model.words import WordAttention

if TYPE_CHECKING:
    from torch import Tensor

TINY = 1e-30
"""Below this a float32 weight has too few digits to take the logarithm of."""
STRIDE = 32
"""Rows of a multiple of this length have their maximum found several times faster."""


class LayerAttention:
    """The maps of the heads of one site on one batch.

    Args:
        view: who looks at whom.
        weights: (example, head, query, key); rows of real queries sum to 1 over visible keys.
        scores: the logits of the weights where the tap saw them (cheaper entropy), else None.
        space: memory for what is needed in passing.
        norms: computes the value norms where they can be seen.
    """

    def __init__(
        self,
        view: View,
        weights: Tensor,
        scores: Tensor | None = None,
        space: Workspace | None = None,
        norms: Callable[[], Tensor] | None = None,
    ) -> None:
        self.view, self.weights, self.scores = view, weights, scores
        self.space, self._norms = space or Workspace(weights.dtype), norms
        self._words: dict[str, WordAttention] = {}
        self._largest: dict[int, Tensor] = {}

    @classmethod
    def uniform(cls, view: View) -> LayerAttention:
        """One head that attends to all visible keys alike, in float64."""
        return cls(view, view.visible.uniform)

    def by_norm(self) -> LayerAttention:
        """The same with every weight times the norm of its key's value vector, rows summing to
        1 (Kobayashi et al. 2020).
        """
        weights = self.space.take("by norm", self.weights.shape, self.weights)
        torch.mul(self.weights, self.norms.unsqueeze(2), out=weights)
        weights /= weights.sum(-1, keepdim=True).clamp_min(TINY)
        return LayerAttention(self.view, weights, None, self.space, self._norms)

    @cached_property
    def norms(self) -> Tensor:
        """(example, head, key) the norm of each key's value vector after the output projection."""
        if self._norms is None:
            raise ModelError("there are no value vectors behind these weights")
        return self._norms()

    @cached_property
    def block(self) -> Block:
        """The maps as one block."""
        return Block(self.view, slice(None), 0, self.weights.shape[2], self.weights)

    def word_block(self, how: str) -> Block:
        """The maps between words as one block."""
        weights = self.words(how).weights
        return Block(self.view, slice(None), 0, weights.shape[2], weights)

    def words(self, how: str) -> WordAttention:
        """Attention between words; from a split word the `mean` over its pieces, or the `first`."""
        if how not in self._words:
            queries, keys = self.view.queries.units, self.view.keys.units
            self._words[how] = WordAttention(self.weights, queries, keys, self.space, how)
        return self._words[how]

    @cached_property
    def entropy(self) -> Tensor:
        """(example, head, query) entropy of each row in nats."""
        if self.scores is None:
            return self.block.entropy
        # H = logsumexp(s) - sum(p s), and logsumexp(s) = s_j - log(p_j) for any key j: the first
        # one costs nothing, the largest serves where the first has (next to) no weight.
        weight, score = self.weights[..., 0], self.scores[..., 0]
        if bool((weight < TINY).any()):
            weight, score = self.weights.amax(-1), self.scores.amax(-1)
        normaliser = score - weight.log()
        expected: Tensor = torch.linalg.vecdot(self.weights, self.scores)
        return (normaliser - expected).clamp_min(0)

    def largest(self, keys: Tensor) -> Tensor:
        """(example, head, query) the largest weight on some keys, (example, key) bool."""
        parts = self.view.once(("parts", id(keys)), lambda: _parts(keys, self.view.keys.texts))
        values = [self._largest_on(part) for part in parts]
        return values[0] if len(values) == 1 else torch.maximum(*values)

    def _largest_on(self, keys: Tensor) -> Tensor:
        if id(keys) not in self._largest:
            column = self.view.once(("column", id(keys)), lambda: _column(keys))
            found = self._row_maximum(keys) if column is None else self._column(*column)
            self._largest[id(keys)] = found
        return self._largest[id(keys)]

    def _column(self, place: Tensor, exists: Tensor) -> Tensor:
        """The weights on one key of each example."""
        at = place[:, None, None, None].expand(*self.weights.shape[:3], 1)
        return self.weights.gather(3, at).squeeze(3) * exists[:, None, None]

    def _row_maximum(self, keys: Tensor) -> Tensor:
        chosen = keys[:, None, None, :].to(self.weights.dtype)
        length = keys.shape[1]
        width = -(-length // STRIDE) * STRIDE
        scratch = self.space.take("scratch", (*self.weights.shape[:3], width), self.weights)
        torch.mul(self.weights, chosen, out=scratch[..., :length])
        scratch[..., length:] = 0
        return scratch.amax(-1)

    def band(self, width: int) -> Tensor:
        """(example, head, query, 2 * width + 1): the weight of query i on key i + offset.

        Where there is no such key the element holds some other weight: multiply by
        `Visible.band` to take these out.
        """
        return band(self.weights, width)


def _parts(keys: Tensor, texts: Tensor) -> list[Tensor]:
    """Keys as all tokens of the texts and the rest, where they have both.

    Most analyses need the largest weight on the text; what is left is a column or two.
    """
    rest = keys & ~texts
    if not bool(rest.any()) or bool((texts & ~keys).any()):
        return [texts if torch.equal(keys, texts) else keys]
    return [texts, rest]


def _column(keys: Tensor) -> tuple[Tensor, Tensor] | None:
    """The one key of each example, and whether it has one; None where any has several."""
    return None if int(keys.sum(1).max()) > 1 else (keys.byte().argmax(1), keys.any(1))


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
    size = length * wide
    shape = (examples, heads, length, 2 * width + 1)
    return weights.as_strided(shape, (heads * size, size, wide + 1, 1), start)
