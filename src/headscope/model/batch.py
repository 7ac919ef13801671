"""A batch: some examples as tensors, with the role of every token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from headscope._util.tensors import torch
from headscope.corpus import Pieces, bucket_of
from headscope.model.words import Units, units_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from headscope.model.attention.kinds import Kind
    from headscope.model.token_roles import TokenRoles

Result = TypeVar("Result")


@dataclass(frozen=True)
class Batch:
    """Padded examples; every mask is (example, token) and False on padding.

    Attributes:
        ids, segments: (example, token) what the model is fed.
        real: not padding.
        special: put there by the tokenizer, not by the text.
        first: the first token (`[CLS]`, `<s>`, or a decoder's attention sink).
        separator, punctuation, stop: roles; stop is a full stop or a comma.
        word: position of the token's word in `pieces[i].words`; -1 where it has none.
        buckets: (example,) where its evidence goes.
    """

    pieces: tuple[Pieces, ...]
    ids: Tensor
    segments: Tensor
    real: Tensor
    special: Tensor
    first: Tensor
    separator: Tensor
    punctuation: Tensor
    stop: Tensor
    word: Tensor
    buckets: Tensor
    _known: dict[object, object] = field(default_factory=dict, repr=False)

    def once(self, key: object, compute: Callable[[], Result]) -> Result:
        """What depends on the batch alone: computed for whoever asks first, kept for the others."""
        if key not in self._known:
            self._known[key] = compute()
        return cast(Result, self._known[key])

    def sides(self, kind: Kind) -> tuple[Batch, Batch]:  # noqa: ARG002  # a pair of texts asks
        """Whose queries look at whose keys: a text at itself."""
        return self, self

    def inputs(self, network: PreTrainedModel) -> dict[str, Tensor]:
        """What a network is called with."""
        inputs = {"input_ids": self.ids, "attention_mask": self.real.long()}
        if getattr(network.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = self.segments
        if hasattr(network.config, "dim_bbox"):  # boxes on a page, which a text alone has not
            inputs["bbox"] = torch.zeros((*self.ids.shape, 4), device=self.ids.device)
        return inputs

    @property
    def real_outputs(self) -> Tensor:
        """(example, token) of what a model gives an output for: not padding."""
        return self.real

    @cached_property
    def texts(self) -> Tensor:
        """(example, token) tokens of the text itself: real and not special."""
        return self.real & ~self.special

    @cached_property
    def other(self) -> Tensor:
        """(example, token) neither the first token nor a separator nor punctuation."""
        return self.real & ~(self.first | self.separator | self.punctuation)

    @cached_property
    def roles(self) -> Tensor:
        """(example, token, 4) 0 or 1: first, separator, punctuation, other; one of them each."""
        return torch.stack([self.first, self.separator, self.punctuation, self.other], -1).float()

    @cached_property
    def second(self) -> Tensor:
        """(example, token) tokens of the second text of a pair."""
        second = torch.zeros(self.real.shape, dtype=torch.bool)
        for place, text in enumerate(self.pieces):
            second[place, : len(text)] = torch.from_numpy(text.second)
        return second.to(self.ids.device)

    @cached_property
    def sizes(self) -> list[int]:
        """How many tokens each example has."""
        return [len(pieces) for pieces in self.pieces]

    @property
    def words(self) -> Tensor:
        """(example, unit) whether the unit is a word of the text; False for specials, padding."""
        return self.units.text

    @cached_property
    def units(self) -> Units:
        """The words of the batch, and which pieces are whose."""
        return units_of(self.pieces, self.ids.shape[1], self.ids.device)


def pad_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """The id to pad with; a decoder without a padding token pads with its end of text."""
    candidates = (tokenizer.pad_token_id, tokenizer.eos_token_id)
    return next((token_id for token_id in candidates if isinstance(token_id, int)), 0)


def make_batch(
    pieces: Sequence[Pieces], roles: TokenRoles, pad: int, device: torch.device | str = "cpu"
) -> Batch:
    """Pad examples to the longest and look up the role of every token."""
    length = max(len(text) for text in pieces)

    def padded(rows: list[NDArray[np.int64]], fill: int) -> NDArray[np.int64]:
        table = np.full((len(rows), length), fill, dtype=np.int64)
        for place, row in enumerate(rows):
            table[place, : len(row)] = row
        return table

    ids = padded([text.ids for text in pieces], pad)
    sizes = np.array([len(text) for text in pieces])
    real = np.arange(length) < sizes[:, None]
    special = padded([text.special.astype(np.int64) for text in pieces], 0).astype(bool)
    first = np.zeros_like(real)
    first[:, 0] = True

    def tensor(array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(device)

    return Batch(
        tuple(pieces),
        tensor(ids),
        tensor(padded([text.segments for text in pieces], 0)),
        tensor(real),
        tensor(special),
        tensor(first),
        tensor(roles.separator(ids) & special & ~first),
        tensor(roles.punctuation(ids) & real & ~special & ~first),
        tensor(roles.stop(ids) & real & ~special & ~first),
        tensor(padded([text.word for text in pieces], -1)),
        tensor(np.array([bucket_of(text.example.unit) for text in pieces])),
    )
