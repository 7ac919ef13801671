"""Probes trained in batches against sentence by sentence; importance against plain forwards."""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn

from bench.timing import timed
from headscope.corpus import Corpus
from headscope.corpus.vectors import read_vectors
from headscope.experiments._shared.loss_gradients import BATCH, gradients_of_loss
from headscope.experiments.probe.inputs import IGNORED, TreebankPart, temporary_file
from headscope.experiments.probe.probes import (
    AttentionAndWords,
    Probe,
    ProbeDimensions,
    joint_scores,
)
from headscope.experiments.probe.sentences import dependencies, parsed_sentences
from headscope.experiments.probe.word_attention import WordMaps
from headscope.model import Model
from headscope.tasks import CaseBatch, Task

CACHE = 4 << 30
"""Bytes for the attention of the sentences."""
ALONE = 200
"""Sentences that the slow side is timed on."""


class PairByPair(nn.Module):
    """The probe as it was first written: a weight per head from the two vectors of every pair."""

    def __init__(self, heads: int, size: int) -> None:
        super().__init__()
        self.weights = nn.Linear(2 * size, 2 * heads)
        self.root = nn.Linear(size, 2 * heads)

    def forward(self, words: Tensor, ends: Tensor, vectors: Tensor) -> Tensor:
        """(word, 1 + word) of one sentence; words (query, key, head)."""
        size = len(vectors)
        pairs = torch.cat(
            [
                vectors[None].expand(size, -1, -1),  # the candidate
                vectors[:, None].expand(-1, size, -1),  # the word
            ],
            -1,
        )
        both = torch.cat([words.transpose(0, 1), words], -1)  # (word, candidate, 2 heads)
        scores = (self.weights(pairs) * both).sum(-1)
        root = (self.root(vectors) * ends).sum(-1, keepdim=True)
        return torch.cat([root, scores], 1)


def probes_table(model: Model, wsj: Corpus, vectors: Path, rounds: int) -> list[str]:
    """An epoch of attention and words, both sides from the same stored attention."""
    some = parsed_sentences(model.encode(list(wsj)))
    types = sorted({word for one in some for word in one.words})
    table = torch.from_numpy(read_vectors(vectors, types).of(types))
    place = {word: row for row, word in enumerate(types)}
    index = [torch.tensor([place[word] for word in one.words]) for one in some]
    with temporary_file(None) as file:
        part = TreebankPart(WordMaps(model, some, file, max_bytes=CACHE), table, index)
        fast, three = (
            min(timed(partial(batched, part, many)) for _ in range(rounds)) / len(some) / many
            for many in (1, 3)
        )
        slow = min(timed(partial(one_by_one, part)) for _ in range(rounds)) / ALONE
    return [
        "",
        "## Training a probe of attention and words in batches or sentence by sentence "
        f"(MiniLM, {len(some):,} WSJ sentences)",
        "",
        "An epoch with GloVe vectors of 100 dimensions; both sides read the same stored attention. "
        "Sentence by sentence: a weight per head for every pair from its two vectors, one step per "
        f"sentence, timed on {ALONE} sentences.",
        "",
        "Sentences per second of each probe, in batches relative to one by one: "
        f"{slow / fast:.1f} times for one probe, {slow / three:.1f} times where three seeds are "
        "trained side by side, as `headscope probe` does (target: 10).",
    ]


def batched(part: TreebankPart, many: int) -> None:
    """An epoch as headscope trains several probes side by side."""
    dimensions = ProbeDimensions(part.maps.heads, part.vectors.shape[1])
    probes: list[Probe] = [AttentionAndWords(dimensions) for _ in range(many)]
    optimizer = torch.optim.Adam([one for probe in probes for one in probe.parameters()], 0.003)
    for group in range(len(part.maps)):
        scores = joint_scores(probes, *part.read(group, probes[0]), allow_self=False)
        target = part.target(group, dependencies).expand(many, -1, -1)
        _step(optimizer, scores.flatten(0, 2), target.flatten())


def one_by_one(part: TreebankPart) -> None:
    """A part of an epoch as it was first done."""
    probe = PairByPair(part.maps.heads, part.vectors.shape[1])
    optimizer = torch.optim.Adam(probe.parameters(), 0.002)
    groups = (
        (group, row) for group, some in enumerate(part.maps.groups) for row in range(len(some))
    )
    step = max(1, sum(len(some) for some in part.maps.groups) // ALONE)
    last, attention = -1, part.maps.read(0)
    for group, row in islice(groups, 0, ALONE * step, step):
        if last != group:
            last, attention = group, part.maps.read(group)
        one = part.maps.members(group)[row]
        size = len(one)
        vectors = part.vectors[part.types[part.maps.groups[group][row]]]
        scores = probe(
            attention.words[row, :size, :size], attention.to_special[row, :size], vectors
        )
        _step(optimizer, scores, torch.from_numpy(one.heads))


def _step(optimizer: torch.optim.Optimizer, scores: Tensor, target: Tensor) -> None:
    loss = nn.functional.cross_entropy(
        scores, target.masked_fill(target < 0, IGNORED), ignore_index=IGNORED
    )
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()


def importance_lines(named: dict[str, tuple[Model, Task]], rounds: int) -> list[str]:
    """One line a model: the time of the gradients as a multiple of the plain forward."""
    lines = []
    for name, (model, task) in named.items():
        batches = task.batches(model, task.cases(model, task.examples, 128), BATCH)
        forward = min(timed(partial(forwards, model, task, batches)) for _ in range(rounds))
        cells = [
            min(
                timed(partial(differentiate, model, task, batches, attention))
                for _ in range(rounds)
            )
            / forward
            for attention in (False, True)
        ]
        lines.append(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
        print(lines[-1], flush=True)
    return lines


@torch.inference_mode()
def forwards(model: Model, task: Task, batches: list[CaseBatch]) -> None:
    """Plain predictions."""
    for batch in batches:
        task.read(model, batch, batch.inputs(model), 1)


def differentiate(model: Model, task: Task, batches: list[CaseBatch], attention: bool) -> None:
    """The gradients of all losses."""
    for batch in batches:
        gradients_of_loss(model, task, batch, attention=attention)
