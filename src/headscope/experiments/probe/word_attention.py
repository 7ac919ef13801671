"""Word-level attention of all heads, computed once a sentence and stored in a file of bounded
size. Sentences of similar length are grouped once and for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BufferedRandom, BytesIO

import numpy as np
import torch
from torch import Tensor

from headscope.corpus import Budget, plan_batches
from headscope.errors import HeadscopeError
from headscope.experiments.probe.sentences import ParsedSentence
from headscope.model import Model
from headscope.model.attention import MapWatcher, Seen

GROUP = Budget(768, 24_000)
"""Words, and words squared, of the sentences that are read together."""
STORED = np.float16
"""Type of stored weights: 11 bits of precision."""
Store = BufferedRandom | BytesIO
"""An open file, or memory."""


@dataclass(frozen=True)
class WordAttentionBatch:
    """Attention between the words of some sentences, all heads of all layers.

    Attributes:
        words: (sentence, query, key, head) between words.
        to_special: (sentence, query, 2 * head) to the first special token, then to separators.
        real: (sentence, word) not padding.
    """

    words: Tensor
    to_special: Tensor
    real: Tensor

    @cached_property
    def by_key(self) -> Tensor:
        """(sentence, key, query, head) the attention between words, transposed."""
        return self.words.transpose(1, 2).contiguous()


class WordMaps:
    """The attention of a model on sentences, group by group, in an open file.

    Args:
        max_bytes: size of the file; what does not fit is computed whenever it is read.
    """

    def __init__(
        self, model: Model, sentences: Sequence[ParsedSentence], file: Store, *, max_bytes: int
    ) -> None:
        self.model, self.sentences = model, sentences
        self.heads = model.layers * model.heads
        self.groups = plan_batches([len(sentence) for sentence in sentences], GROUP)
        self._file = file
        self._starts: dict[int, int] = {}
        self._fill(max_bytes)

    def __len__(self) -> int:
        return len(self.groups)

    def members(self, group: int) -> list[ParsedSentence]:
        """The sentences of a group."""
        return [self.sentences[place] for place in self.groups[group]]

    def read(self, group: int) -> WordAttentionBatch:
        """The attention of a group of sentences."""
        if group not in self._starts:
            computed = self._compute(group)
            words, special = (
                weights.to(torch.float16).float()
                for weights in (computed.words, computed.to_special)
            )
            return WordAttentionBatch(words, special, computed.real)
        sentences, width = self._shape(group)
        self._file.seek(self._starts[group])
        stored = np.empty(self._count(group), STORED)
        self._file.readinto(stored.data)
        values = torch.from_numpy(stored).float()
        between_words = sentences * width * width * self.heads
        return WordAttentionBatch(
            values[:between_words].view(sentences, width, width, self.heads),
            values[between_words:].view(sentences, width, 2 * self.heads),
            self._real(group),
        )

    def without_attention(self, group: int) -> WordAttentionBatch:
        """A group of sentences without their attention."""
        empty = torch.empty(0)
        return WordAttentionBatch(empty, empty, self._real(group))

    def _fill(self, max_bytes: int) -> None:
        end = 0
        for group in range(len(self)):
            size = self._count(group) * np.dtype(STORED).itemsize
            if end + size <= max_bytes:
                attention = self._compute(group)
                weights = torch.cat([attention.words.flatten(), attention.to_special.flatten()])
                try:
                    self._file.write(weights.numpy().astype(STORED).data)
                    self._file.flush()
                except OSError as error:
                    raise HeadscopeError(
                        f"no room for the attention of the sentences ({error.strerror}); "
                        "allow it less with --cache"
                    ) from None
                self._starts[group] = end
                end += size

    def _shape(self, group: int) -> tuple[int, int]:
        """Sentences of a group, and words of the longest."""
        members = self.members(group)
        return len(members), max(len(sentence) for sentence in members)

    def _count(self, group: int) -> int:
        """Weights that are stored of a group."""
        sentences, width = self._shape(group)
        return sentences * width * (width + 2) * self.heads

    def _real(self, group: int) -> Tensor:
        sizes = torch.tensor([len(sentence) for sentence in self.members(group)])
        return torch.arange(int(sizes.max())) < sizes[:, None]

    def _compute(self, group: int) -> WordAttentionBatch:
        words, special = compute_attention(self.model, self.members(group))
        real = self._real(group)
        words *= (real[:, :, None] & real[:, None, :]).unsqueeze(3)
        special *= real[:, :, None, None]
        return WordAttentionBatch(words, special.flatten(2), real)


def compute_attention(model: Model, sentences: list[ParsedSentence]) -> tuple[Tensor, Tensor]:
    """(sentence, query, key, head) between words and (sentence, query, 2, head) to the first
    special token and to separators; what lies beyond the end of a sentence is arbitrary.
    """
    batch = model.batch([sentence.pieces for sentence in sentences])
    width, heads = max(len(sentence) for sentence in sentences), model.layers * model.heads
    places = torch.zeros(len(sentences), width, dtype=torch.long)
    for row, sentence in enumerate(sentences):
        places[row, : len(sentence)] = torch.from_numpy(sentence.places)
    rows = torch.arange(len(sentences))[:, None]
    words = torch.empty(len(sentences), width, width, heads)
    special = torch.empty(len(sentences), width, 2, heads)
    masks = torch.stack([batch.first & batch.special, batch.separator], 1).cpu().float()
    special_units = (masks @ batch.units.to.cpu()).clamp_max(1).mT  # (sentence, unit, 2)

    def keep(seen: Seen, maps: Tensor) -> None:
        units = maps.cpu()  # (sentence, head, unit, unit)
        to_special = units @ special_units.unsqueeze(1)  # (sentence, head, unit, 2)
        start = seen.site.place * units.shape[1]
        part = slice(start, start + units.shape[1])
        words[..., part] = units[rows.unsqueeze(2), :, places[:, :, None], places[:, None, :]]
        special[..., part] = to_special[rows, :, places].transpose(2, 3)

    with model.watch(MapWatcher(keep, words="mean")) as tap:
        tap.forward(batch)
    return words, special
