"""Evaluating a probe: scores, accuracy, trees, and which heads it uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from ufal.chu_liu_edmonds import chu_liu_edmonds

from headscope.experiments.probe.inputs import TreebankPart
from headscope.experiments.probe.probes import AttentionProbe, Probe, joint_scores
from headscope.experiments.probe.sentences import ROOT, Gold, Ints, ParsedSentence, control

Floats = NDArray[np.float64]


@torch.no_grad()
def sentence_scores(
    probe: Probe, part: TreebankPart, gold: Gold
) -> Iterator[tuple[int, ParsedSentence, Floats]]:
    """Every sentence with its number and its scores (word, 1 + word)."""
    for group in range(len(part.maps)):
        scores = probe(*part.read(group, probe), gold is control).double().numpy()
        for row, place in enumerate(part.maps.groups[group]):
            sentence = part.maps.sentences[place]
            yield place, sentence, scores[row, : len(sentence), : len(sentence) + 1]


@torch.no_grad()
def accuracies(probes: Sequence[Probe], part: TreebankPart, gold: Gold) -> list[float]:
    """Of each probe, the share of scored words whose head is the best candidate."""
    correct, total = torch.zeros(len(probes)), 0
    for group in range(len(part.maps)):
        scores = joint_scores(probes, *part.read(group, probes[0]), gold is control)
        rows = [torch.from_numpy(sentence.scored) for sentence in part.maps.members(group)]
        scored = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        correct += ((scores.argmax(-1) == part.target(group, gold)) & scored).sum((1, 2))
        total += int(scored.sum())
    return (correct / max(1, total)).tolist()


def spanning_tree(scores: Floats) -> Ints:
    """(word,) heads of the tree with the largest sum of log-probabilities, one word at its root.

    Args:
        scores: (word, 1 + word), the root first.

    >>> spanning_tree(np.array([[0.0, -9.0, 9.0], [1.0, 9.0, -9.0]])).tolist()
    [2, 0]
    """
    size = len(scores)
    chances = scores - np.logaddexp.reduce(scores, 1, keepdims=True)
    chances[:, ROOT] -= 2.0 * np.abs(chances[np.isfinite(chances)]).max() * size + 1.0  # once
    square = np.full((size + 1, size + 1), np.nan)
    square[1:] = chances
    np.fill_diagonal(square, np.nan)
    heads, _ = chu_liu_edmonds(square)
    return np.array(heads[1:], dtype=np.int64)


@torch.no_grad()
def head_use(probe: AttentionProbe, part: TreebankPart) -> Iterator[tuple[str, Floats, int]]:
    """Per sentence: its document; (head, 2) what each attention head adds to the score of the
    right candidate above what it adds to other words, by attention from the candidate and to it;
    and the number of words that is summed over.
    """
    for group in range(len(part.maps)):
        attention, vectors = part.read(group, probe)
        both = torch.stack(probe.use(attention, vectors), -1)  # (s, word, candidate, head, 2)
        for row, sentence in enumerate(part.maps.members(group)):
            size = len(sentence)
            words = np.nonzero(sentence.scored & (sentence.heads > ROOT))[0]
            if size < 3 or not len(words):  # no other candidate to compare with
                continue
            added, each = both[row, words, :size], torch.arange(len(words))
            right = added[each, torch.from_numpy(sentence.heads[words] - 1)]
            itself = added[each, torch.from_numpy(words)]
            others = (added.sum(1) - right - itself) / (size - 2)
            yield sentence.unit, (right - others).sum(0).double().numpy(), len(words)
