"""Relations from attention: which relation joins a word to the head that a probe gave it?"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from headscope.experiments.probe.sentences import ROOT, Ints, Sentence
from headscope.experiments.probe.training import IGNORED, Part
from headscope.experiments.probe.word_attention import Looks

EPOCHS, RATE = 6, 0.03


class Labeller(nn.Module):
    """A linear classifier of relations over the attention between a word and its head, both ways,
    and from the word to the specials.
    """

    def __init__(self, names: tuple[str, ...], heads: int) -> None:
        super().__init__()
        self.names = names
        self.out = nn.Linear(4 * heads, len(names))

    def forward(self, looks: Looks, heads: Tensor) -> Tensor:
        """(sentence, word, relation) scores, given (sentence, word) heads."""
        place = (heads - 1).clamp_min(0)[:, :, None, None].expand(-1, -1, 1, looks.words.shape[-1])
        found = (heads > ROOT).unsqueeze(-1)
        pair = [one.gather(2, place).squeeze(2) * found for one in (looks.words, looks.turned)]
        scores: Tensor = self.out(torch.cat([*pair, looks.ends], -1))
        return scores


def label(part: Part, seed: int) -> Labeller:
    """Train a labeller on the right heads of a treebank."""
    names = tuple(sorted({name for one in part.maps.sentences for name in one.relations}))
    place = {name: number for number, name in enumerate(names)}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = Labeller(names, part.maps.heads)
    optimizer = torch.optim.Adam(made.parameters(), RATE)
    rng = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        for group in rng.permutation(len(part.maps)).tolist():
            members = part.maps.members(group)
            heads = padded([one.heads for one in members], ROOT)
            target = padded(
                [
                    np.where(one.heads < ROOT, IGNORED, [place[name] for name in one.relations])
                    for one in members
                ],
                IGNORED,
            )
            scores = made(part.maps.read(group), heads.clamp_min(ROOT))
            loss = nn.functional.cross_entropy(
                scores.flatten(0, 1), target.flatten(), ignore_index=IGNORED
            )
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
    return made


@torch.no_grad()
def labelled(labeller: Labeller, part: Part, heads: dict[int, Ints]) -> dict[int, list[str]]:
    """The relations of all words of all sentences, by the sentence's number, given their heads."""
    found = {}
    for group, places in enumerate(part.maps.groups):
        given = padded([heads[place] for place in places], ROOT)
        best = labeller(part.maps.read(group), given).argmax(-1)
        for row, place in enumerate(places):
            size = len(part.maps.sentences[place])
            found[place] = [labeller.names[one] for one in best[row, :size].tolist()]
    return found


def padded(rows: list[Ints], fill: int) -> Tensor:
    """(sentence, word) numbers of sentences of different length."""
    tensors = [torch.from_numpy(np.asarray(row, dtype=np.int64)) for row in rows]
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=fill)


def right_labels(sentence: Sentence, heads: Ints, names: list[str]) -> int:
    """How many words that count have both the right head and the right relation."""
    same = np.array([a == b for a, b in zip(names, sentence.relations, strict=True)], dtype=bool)
    return int((sentence.scored & (heads == sentence.heads) & same).sum())
