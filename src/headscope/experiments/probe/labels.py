"""Relations from attention: which relation joins a word to the head that a probe gave it?"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from headscope.experiments.probe.inputs import IGNORED, TreebankPart
from headscope.experiments.probe.sentences import ROOT, Ints, ParsedSentence
from headscope.experiments.probe.word_attention import WordAttentionBatch

EPOCHS, LEARNING_RATE = 6, 0.03


class Labeller(nn.Module):
    """A linear classifier of relations over the attention between a word and its syntactic head,
    in both directions, and from the word to special tokens.
    """

    def __init__(self, names: tuple[str, ...], heads: int) -> None:
        super().__init__()
        self.names = names
        self.out = nn.Linear(4 * heads, len(names))

    def forward(self, attention: WordAttentionBatch, heads: Tensor) -> Tensor:
        """(sentence, word, relation) scores, given (sentence, word) syntactic heads."""
        index = (heads - 1).clamp_min(0)[:, :, None, None]
        index = index.expand(-1, -1, 1, attention.words.shape[-1])
        has_head = (heads > ROOT).unsqueeze(-1)
        pair = [
            weights.gather(2, index).squeeze(2) * has_head
            for weights in (attention.words, attention.by_key)
        ]
        scores: Tensor = self.out(torch.cat([*pair, attention.to_special], -1))
        return scores


def train_labeller(part: TreebankPart, seed: int) -> Labeller:
    """Train a labeller on the gold heads of a treebank."""
    maps = part.maps
    names = tuple(sorted({name for sentence in maps.sentences for name in sentence.relations}))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        labeller = Labeller(names, maps.heads)
    optimizer = torch.optim.Adam(labeller.parameters(), LEARNING_RATE)
    rng = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        for group in rng.permutation(len(maps)).tolist():
            members = maps.members(group)
            heads = _padded([sentence.heads for sentence in members], ROOT).clamp_min(ROOT)
            scores = labeller(maps.read(group), heads)
            loss = nn.functional.cross_entropy(
                scores.flatten(0, 1), _targets(members, names).flatten(), ignore_index=IGNORED
            )
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
    return labeller


def _targets(sentences: list[ParsedSentence], names: tuple[str, ...]) -> Tensor:
    """(sentence, word) the number of each gold relation."""
    number = {name: place for place, name in enumerate(names)}
    rows = [
        np.where(sentence.heads < ROOT, IGNORED, [number[name] for name in sentence.relations])
        for sentence in sentences
    ]
    return _padded(rows, IGNORED)


@torch.no_grad()
def predict_relations(
    labeller: Labeller, part: TreebankPart, heads: dict[int, Ints]
) -> dict[int, list[str]]:
    """The relations of all words by the sentence's number, given their predicted heads."""
    relations = {}
    for group, places in enumerate(part.maps.groups):
        predicted = _padded([heads[place] for place in places], ROOT)
        best = labeller(part.maps.read(group), predicted).argmax(-1)
        for row, place in enumerate(places):
            numbers = best[row, : len(part.maps.sentences[place])].tolist()
            relations[place] = [labeller.names[number] for number in numbers]
    return relations


def _padded(rows: list[Ints], fill: int) -> Tensor:
    """(sentence, word) numbers of sentences of different lengths."""
    tensors = [torch.from_numpy(np.asarray(row, dtype=np.int64)) for row in rows]
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=fill)


def count_labelled(sentence: ParsedSentence, heads: Ints, names: list[str]) -> int:
    """How many scored words have both the right head and the right relation."""
    same = np.array(names) == np.array(sentence.relations)
    return int((sentence.scored & (heads == sentence.heads) & same).sum())
