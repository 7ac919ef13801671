"""Word-level attention of all heads, computed once a sentence and kept in a bounded file.

Sentences of like length are put together once and for all. What does not fit into the file is
computed again whenever it is asked for.
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
from headscope.experiments.probe.sentences import Sentence
from headscope.model import Model
from headscope.model.attention import MapWatcher, Seen

TOGETHER = Budget(768, 24_000)
"""Words, and words squared, of the sentences that are read together."""
ROOM = 4 << 30
"""Bytes that the file may have."""
KEPT = np.float16
"""What weights are kept as: 11 bits of each."""
Store = BufferedRandom | BytesIO
"""Where they are kept: a file that is open, or memory."""


@dataclass(frozen=True)
class Looks:
    """Where the words of some sentences look, all heads of all layers.

    Attributes:
        words: (sentence, query, key, head) between words.
        ends: (sentence, query, 2 * head) to the first special, then to separators.
        real: (sentence, word) not padding.
    """

    words: Tensor
    ends: Tensor
    real: Tensor

    @cached_property
    def turned(self) -> Tensor:
        """(sentence, key, query, head) the same by what is looked at."""
        return self.words.transpose(1, 2).contiguous()


class WordMaps:
    """The attention of a model on sentences, group by group, in a file that is open."""

    def __init__(
        self,
        model: Model,
        sentences: Sequence[Sentence],
        file: Store,
        *,
        room: int = ROOM,
    ) -> None:
        self.model, self.sentences = model, sentences
        self.heads = model.layers * model.heads
        self.groups = plan_batches([len(one) for one in sentences], TOGETHER)
        self._file = file
        self._starts: dict[int, int] = {}
        self._fill(room)

    def __len__(self) -> int:
        return len(self.groups)

    def members(self, group: int) -> list[Sentence]:
        """The sentences of a group."""
        return [self.sentences[place] for place in self.groups[group]]

    def _fill(self, room: int) -> None:
        end = 0
        for group in range(len(self)):
            size = self._count(group) * np.dtype(KEPT).itemsize
            if end + size <= room:
                looks = self._computed(group)
                parts = (looks.words.flatten(), looks.ends.flatten())
                try:
                    self._file.write(torch.cat(parts).numpy().astype(KEPT).data)
                    self._file.flush()
                except OSError as error:
                    raise HeadscopeError(
                        f"no room for the attention of the sentences ({error.strerror}); "
                        "allow it less with --cache"
                    ) from None
                self._starts[group] = end
                end += size

    def _shape(self, group: int) -> tuple[int, int]:
        members = self.members(group)
        return len(members), max(len(one) for one in members)

    def _count(self, group: int) -> int:
        many, width = self._shape(group)
        return many * width * (width + 2) * self.heads

    def read(self, group: int) -> Looks:
        """The attention of a group of sentences."""
        if group not in self._starts:
            looks = self._computed(group)
            words, ends = (one.to(torch.float16).float() for one in (looks.words, looks.ends))
            return Looks(words, ends, looks.real)
        many, width = self._shape(group)
        self._file.seek(self._starts[group])
        flat = np.empty(self._count(group), KEPT)
        self._file.readinto(flat.data)
        values = torch.from_numpy(flat).float()
        inner = many * width * width * self.heads
        return Looks(
            values[:inner].view(many, width, width, self.heads),
            values[inner:].view(many, width, 2 * self.heads),
            self._real(group),
        )

    def bare(self, group: int) -> Looks:
        """A group of sentences without any attention."""
        none = torch.empty(0)
        return Looks(none, none, self._real(group))

    def _real(self, group: int) -> Tensor:
        sizes = torch.tensor([len(one) for one in self.members(group)])
        return torch.arange(int(sizes.max())) < sizes[:, None]

    def _computed(self, group: int) -> Looks:
        """Have the model read a group."""
        members = self.members(group)
        many, width = self._shape(group)
        batch = self.model.batch([one.pieces for one in members])
        places = torch.zeros(many, width, dtype=torch.long)
        for row, one in enumerate(members):
            places[row, : len(one)] = torch.from_numpy(one.places)
        real = self._real(group)
        rows = torch.arange(many)[:, None]
        words = torch.empty(many, width, width, self.heads)
        ends = torch.empty(many, width, 2, self.heads)

        def keep(seen: Seen, maps: Tensor) -> None:
            units = maps.cpu()  # (sentence, head, unit, unit)
            to_ends = units @ ends_of.unsqueeze(1)  # (sentence, head, unit, 2)
            start = seen.site.place * units.shape[1]
            part = slice(start, start + units.shape[1])
            words[..., part] = units[rows.unsqueeze(2), :, places[:, :, None], places[:, None, :]]
            ends[..., part] = to_ends[rows, :, places].transpose(2, 3)

        to = batch.units.to.cpu()  # (sentence, token, unit)
        masks = torch.stack([batch.first & batch.special, batch.separator], 1).cpu().float()
        ends_of = (masks @ to).clamp_max(1).mT  # (sentence, unit, 2)
        with self.model.watch(MapWatcher(keep, words="mean")) as tap:
            tap.forward(batch)
        words *= (real[:, :, None] & real[:, None, :]).unsqueeze(3)
        ends *= real[:, :, None, None]
        return Looks(words, ends.flatten(2), real)
