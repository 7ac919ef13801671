"""What probes are shown: the parts of a treebank with attention, word vectors and targets."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self, cast

import torch
from torch import Tensor, nn

from headscope._util.atomic import explain_write_errors
from headscope.corpus.vectors import WordVectors
from headscope.experiments.probe.probes import AttentionProbe, Probe
from headscope.experiments.probe.sentences import ROOT, Gold, ParsedSentence
from headscope.experiments.probe.tables import RANDOM_LAYERS, TRAINED
from headscope.experiments.probe.word_attention import Store, WordAttentionBatch, WordMaps
from headscope.model import Model, reinitialise

IGNORED = -100
"""Target of words whose head is not known."""


@dataclass
class TreebankPart:
    """A part of a treebank: the attention between its words, and their vectors.

    Attributes:
        vectors: (type, size) of word types; types: of each sentence, its words' types.
    """

    maps: WordMaps
    vectors: Tensor
    types: list[Tensor]
    _types: dict[int, Tensor] = field(default_factory=dict, repr=False)
    _targets: dict[tuple[int, Gold], Tensor] = field(default_factory=dict, repr=False)

    def read(self, group: int, probe: Probe) -> tuple[WordAttentionBatch, Tensor]:
        """What a probe is shown of a group: attention, and (sentence, word, size) vectors."""
        sees_attention = isinstance(probe, AttentionProbe)
        attention = self.maps.read(group) if sees_attention else self.maps.without_attention(group)
        if group not in self._types:
            rows = [self.types[place] for place in self.maps.groups[group]]
            self._types[group] = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return attention, self.vectors[self._types[group]]

    def target(self, group: int, gold: Gold) -> Tensor:
        """(sentence, word) gold heads; `IGNORED` where they are not known."""
        if (group, gold) not in self._targets:
            rows = [torch.from_numpy(gold(sentence)) for sentence in self.maps.members(group)]
            heads = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=IGNORED)
            self._targets[group, gold] = heads.masked_fill(heads < ROOT, IGNORED)
        return self._targets[group, gold]


class ProbeInputs:
    """The parts of a treebank with the attention of a model, trained or random.

    The attention of one set of weights is kept at a time, in temporary files.

    Attributes:
        sentences: of each part.
        vectors: of words; None: the model's own input embeddings.
        max_bytes: on disk, for the attention of each part.
        folder: for the temporary files.
    """

    def __init__(
        self,
        model: Model,
        sentences: Mapping[str, list[ParsedSentence]],
        vectors: WordVectors | None,
        *,
        seed: int,
        max_bytes: int,
        folder: Path | None,
    ) -> None:
        self.model, self.sentences, self.vectors = model, sentences, vectors
        self.seed, self.max_bytes, self.folder = seed, max_bytes, folder
        self._weights, self._parts = "", dict[str, TreebankPart]()
        self._files = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def part(self, weights: str, name: str) -> TreebankPart:
        """A part with the attention of a model with these weights."""
        if self._weights != weights:
            self._files.close()
            self._weights, self._parts = weights, {}
        if name not in self._parts:
            sentences = self.sentences[name]
            file = self._files.enter_context(temporary_file(self.folder))
            maps = WordMaps(self._model(weights), sentences, file, max_bytes=self.max_bytes)
            types = [
                torch.tensor([self.types[word] for word in sentence.words])
                for sentence in sentences
            ]
            self._parts[name] = TreebankPart(maps, self.word_vectors, types)
        return self._parts[name]

    def _model(self, weights: str) -> Model:
        if weights == TRAINED:
            return self.model
        return reinitialise(self.model, self.seed, embeddings=weights == RANDOM_LAYERS)

    @cached_property
    def types(self) -> dict[str, int]:
        """The word types of all parts."""
        words = {word for part in self.sentences.values() for each in part for word in each.words}
        return {word: place for place, word in enumerate(sorted(words))}

    @cached_property
    def word_vectors(self) -> Tensor:
        """(type, size) vectors of all word types, of unit variance as a whole."""
        if self.vectors is not None:
            vectors = torch.from_numpy(self.vectors.of(list(self.types)))
        else:
            vectors = own_vectors(self.model, list(self.types))
        nonzero = vectors[vectors.abs().sum(1) > 0]
        return vectors / nonzero.std().clamp_min(1e-6) if len(nonzero) else vectors


def own_vectors(model: Model, words: list[str]) -> Tensor:
    """(word, size) the mean input embedding of the pieces of each word."""
    embeddings = cast(nn.Embedding, model.network.get_input_embeddings())
    with torch.no_grad():
        pieces = model.tokenizer(words, add_special_tokens=False)["input_ids"]
        table = embeddings.weight.detach().float().cpu()
        rows = [
            table[torch.tensor(ids)].mean(0) if ids else table.new_zeros(table.shape[1])
            for ids in pieces
        ]
    return torch.stack(rows)


@contextmanager
def temporary_file(folder: Path | None) -> Iterator[Store]:
    """A file without a name, deleted when it is closed, or when the process ends."""
    with ExitStack() as stack:
        with explain_write_errors(folder or Path(tempfile.gettempdir())):
            file = stack.enter_context(tempfile.TemporaryFile(dir=folder))
        yield cast(Store, file)
