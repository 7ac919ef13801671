"""A batch of two texts each: what an encoder reads, and what a decoder is made to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headscope.model.attention.kinds import Kind
from headscope.model.batch import Batch

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class PairedBatch:
    """Texts of an encoder and of a decoder, by teacher forcing.

    Attributes:
        source: what the encoder reads.
        target: what the decoder reads: the token it starts with, then the text itself.
    """

    source: Batch
    target: Batch

    def sides(self, kind: Kind) -> tuple[Batch, Batch]:
        """Whose queries look at whose keys."""
        queries = self.source if kind is Kind.ENCODER else self.target
        return queries, self.target if kind is Kind.DECODER else self.source

    @property
    def real(self) -> Tensor:
        """(example, token) of the decoder's text: not padding."""
        return self.target.real

    def inputs(self, network: PreTrainedModel) -> dict[str, Tensor | bool]:  # noqa: ARG002
        """What a network is called with."""
        return {
            "input_ids": self.source.ids,
            "attention_mask": self.source.real.long(),
            "decoder_input_ids": self.target.ids,
            "decoder_attention_mask": self.target.real.long(),
            "use_cache": False,
        }
