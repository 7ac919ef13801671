"""A batch of texts with their translations: what an encoder reads, and what a decoder says."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from headscope._util.tensors import torch
from headscope.corpus import PairedPieces
from headscope.corpus.paired_pieces import IGNORED
from headscope.model.attention.kinds import Kind
from headscope.model.batch import Batch, make_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor
    from transformers import PreTrainedModel

    from headscope.model.token_roles import TokenRoles


@dataclass(frozen=True)
class PairedBatch(Batch):
    """The batch of the texts, and beside it that of their translations, by teacher forcing.

    Attributes:
        target: what the decoder reads: the token it starts with, then the translation.
    """

    target: Batch = field(kw_only=True)

    def sides(self, kind: Kind) -> tuple[Batch, Batch]:
        """Whose queries look at whose keys."""
        queries = self if kind is Kind.ENCODER else self.target
        return queries, self.target if kind is Kind.DECODER else self

    def inputs(self, network: PreTrainedModel) -> dict[str, Tensor]:
        """What a network is called with."""
        return super().inputs(network) | {
            "decoder_input_ids": self.target.ids,
            "decoder_attention_mask": self.target.real.long(),
        }

    @property
    def real_outputs(self) -> Tensor:
        """(example, token) of the translations: not padding."""
        return self.target.real

    @property
    def labels(self) -> Tensor:
        """(example, token of the target) what is to be said there; `IGNORED` on padding."""
        rows = np.full(self.target.ids.shape, IGNORED, dtype=np.int64)
        for row, pieces in zip(rows, self.pieces, strict=True):
            assert isinstance(pieces, PairedPieces)
            row[: len(pieces.labels)] = pieces.labels
        return torch.from_numpy(rows).to(self.ids.device)


def make_paired_batch(
    pieces: Sequence[PairedPieces], roles: TokenRoles, pad: int, device: torch.device | str
) -> PairedBatch:
    """Pad both sides to their longest, and look up the role of every token."""
    source = make_batch(pieces, roles, pad, device)
    target = make_batch([one.target for one in pieces], roles, pad, device)
    return PairedBatch(
        **{one.name: getattr(source, one.name) for one in fields(Batch)}, target=target
    )
