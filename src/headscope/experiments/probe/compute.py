"""Clark's table 3 for a model and a treebank: probes, baselines, controls, job by job."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from headscope._util.progress import NoProgress, Progress
from headscope.corpus import BUCKETS, bucket_of, stable_hash
from headscope.corpus.vectors import WordVectors
from headscope.evidence import Layout, ShardResult, Statistic, Tally, Unit, estimate
from headscope.experiments.probe import sentences as trees
from headscope.experiments.probe.labels import Labeller, label, labelled, right_labels
from headscope.experiments.probe.probes import KINDS, Attention, AttentionAndWords
from headscope.experiments.probe.sentences import Gold, Ints, Sentence
from headscope.experiments.probe.training import (
    Floats,
    Part,
    Trained,
    as_tree,
    scored,
    train,
    tuned,
    uses,
)
from headscope.experiments.probe.word_attention import ROOM, Store, WordMaps
from headscope.model import Model, reinitialise

Row = dict[str, Any]
TRAINED, LAYERS, RANDOM, NONE = "trained", "random layers", "random", "none"
ATTENTION, BOTH, BASELINE = KINDS
UAS, TREE, LAS, CONTROL = "UAS", "UAS as trees", "LAS", "control"
SELECTIVITY = "selectivity"
USE = ("from the head to the dependent", "from the dependent to the head")
DEV = 0.1
"""Of the sentences, where no development part is given."""


@dataclass(frozen=True)
class Job:
    """A probe to be trained: its kind, on whose attention, for what."""

    kind: str
    weights: str
    task: str

    @property
    def key(self) -> str:
        """Its name in a result."""
        return f"{self.kind} | {self.weights} | {self.task}"


JOBS = (
    Job(ATTENTION, TRAINED, UAS), Job(BOTH, TRAINED, UAS), Job(BASELINE, NONE, UAS),
    Job(ATTENTION, TRAINED, CONTROL), Job(BOTH, TRAINED, CONTROL), Job(BASELINE, NONE, CONTROL),
    Job(BOTH, LAYERS, UAS), Job(BOTH, RANDOM, UAS),
)  # fmt: skip


@dataclass
class Parsing:
    """Parsers that know attention, and words: how well they find syntactic heads, and which heads
    of the model they use.

    A head's use is what it adds to the score of a word's syntactic head, above what it adds to
    the other words of the sentence, in nats of log-odds: by looking from the syntactic head to the
    dependent, and back. Mean over the test part's words but punctuation and roots, and over seeds.

    Attributes:
        parts: the sentences to learn from, to stop by, to test on.
        vectors: of words; None: the model's own input embeddings.
        seeds: how many times each probe is trained.
        labels: whether relations are told as well.
        room: bytes that attention may take on disk, for each part.
    """

    name: ClassVar[str] = "probe"

    model: Model
    parts: dict[str, list[Sentence]]
    vectors: WordVectors | None
    seeds: int = 3
    seed: int = 0
    labels: bool = False
    room: int = ROOM
    folder: Path | None = None
    progress: Progress = field(default_factory=NoProgress)

    def __post_init__(self) -> None:
        self.merged = ShardResult()
        self._maps: tuple[str, dict[str, Part]] = ("", {})
        self._files = ExitStack()
        self._labellers: dict[str, Labeller] = {}

    @cached_property
    def types(self) -> dict[str, int]:
        """The word types of all parts."""
        found = {word for part in self.parts.values() for one in part for word in one.words}
        return {word: place for place, word in enumerate(sorted(found))}

    @cached_property
    def table(self) -> Tensor:
        """(type, size) vectors of all words, of unit variance as a whole."""
        if self.vectors is not None:
            made = torch.from_numpy(self.vectors.of(list(self.types)))
        else:
            made = own_vectors(self.model, list(self.types))
        known = made[made.abs().sum(1) > 0]
        return made / known.std().clamp_min(1e-6) if len(known) else made

    @property
    def cost(self) -> int:
        """Trainings of a probe that all jobs ask for, the maps not counted."""
        return len(JOBS) * self.seeds

    def skip(self, result: ShardResult) -> None:
        """What an earlier process had done counts as done."""
        self.progress.advance(result.counts["trained"])

    def part(self, weights: str, name: str) -> Part:
        """A part with the attention of a model; that of one model is kept at a time."""
        if self._maps[0] != weights:
            self.close()
            self._maps = (weights, {})
        known = self._maps[1]
        if name not in known:
            some = self.parts[name]
            file = self._files.enter_context(temporary(self.folder))
            maps = WordMaps(self._model(weights), some, file, room=self.room)
            index = [torch.tensor([self.types[word] for word in one.words]) for one in some]
            known[name] = Part(maps, self.table, index)
        return known[name]

    def close(self) -> None:
        """Let go of the attention that is kept."""
        self._files.close()
        self._maps = ("", {})

    def _model(self, weights: str) -> Model:
        if weights in (TRAINED, NONE):
            return self.model
        return reinitialise(self.model, self.seed, embeddings=weights == LAYERS)

    def work(self, job: Job) -> ShardResult:
        """Train a probe with every seed and try it on the test part."""
        weights = TRAINED if job.weights == NONE else job.weights
        parts = (self.part(weights, "train"), self.part(weights, "dev"))
        test = self.part(weights, "test")
        gold: Gold = trees.control if job.task == CONTROL else trees.dependencies
        first = tuned(job.kind, parts, gold, self.seed)
        result, found = ShardResult(), []
        runs = [(first, seed) for seed in range(self.seed, self.seed + self.seeds)]
        for one in train(job.kind, parts, gold, runs):
            found.append(self._tried(job, one, test, gold, result))
            result.counts["trained"] += 1
            self.progress.advance(1)
        result.columns[job.key] = np.mean(found, 0)
        words = max(1, int(result.columns[job.key][:, 0].sum()))
        result.columns[f"{job.key} seeds"] = np.array([one[:, 1].sum() / words for one in found])
        return result

    def _tried(self, job: Job, one: Trained, test: Part, gold: Gold, result: ShardResult) -> Floats:
        """(sentence, 4) words that count; right by argmax, as trees, with their relations."""
        made = np.zeros((len(test.maps.sentences), 4))
        heads: dict[int, Ints] = {}
        for place, sentence, scores in scored(one.probe, test, gold):
            heads[place] = scores.argmax(1)
            counts = [int(sentence.scored.sum()), _right(sentence, heads[place], gold), 0, 0]
            if job.task == UAS:
                counts[2] = _right(sentence, as_tree(scores), gold)
            made[place] = counts
        if job.task == UAS and self.labels and one.probe.looks:
            names = labelled(self._labeller(job.weights), test, heads)
            for place, sentence in enumerate(test.maps.sentences):
                made[place, 3] = right_labels(sentence, heads[place], names[place])
        if job.task == UAS and job.weights == TRAINED and one.probe.looks:
            probe = cast(Attention | AttentionAndWords, one.probe)
            self._used(job, probe, test, result)
        return made

    def _labeller(self, weights: str) -> Labeller:
        """The one labeller of a model's attention."""
        if weights not in self._labellers:
            self._labellers[weights] = label(self.part(weights, "train"), self.seed)
        return self._labellers[weights]

    def _used(
        self, job: Job, probe: Attention | AttentionAndWords, test: Part, result: ShardResult
    ) -> None:
        layers, heads = self.model.layers, self.model.heads
        sums = np.zeros((BUCKETS, layers, heads, 2))
        counts = np.zeros((BUCKETS, layers, 1, 2))
        for unit, added, words in uses(probe, test):
            bucket = bucket_of(unit)
            sums[bucket] += added.reshape(layers, heads, 2)
            counts[bucket] += words
        tally = Tally.of(sums, counts)
        if job.key in result.tallies:
            result.tallies[job.key].merge(tally)
        else:
            result.tallies[job.key] = tally

    def statistics(self) -> list[Statistic]:
        """After all jobs: which heads the probes use."""
        layout = Layout(BUCKETS, self.model.layers, self.model.heads)
        jobs = [job for job in JOBS if job.key in self.merged.tallies]
        made = []
        for place, direction in enumerate(USE):
            tallies = [self.merged.tallies[job.key].part(slice(place, place + 1)) for job in jobs]
            both = Tally.of(
                np.concatenate([one.sums for one in tallies], -1),
                np.concatenate([one.counts for one in tallies], -1),
            )
            zero = Tally(layout, len(jobs))
            zero.counts[:] = both.counts
            made.append(
                Statistic(
                    "use", both, zero, Unit.NATS_GAINED,
                    "what the head adds to the score of the right candidate above the others",
                    tuple(job.kind for job in jobs), direction,
                    headlines={ATTENTION: f"use by a probe, {direction}"},
                )
            )  # fmt: skip
        return made

    def rows(self) -> list[Row]:
        """After all jobs: every probe and baseline with its score on the test part."""
        made: list[Row] = []
        for job in JOBS:
            found = self.merged.columns[job.key]
            spread = self.merged.columns[f"{job.key} seeds"]
            measures = {job.task: 1}
            if job.task == UAS:
                measures |= {TREE: 2}
                measures |= {LAS: 3} if self.labels and KINDS[job.kind].looks else {}
            for measure, column in measures.items():
                row = self._row(job.kind, job.weights, measure, found[:, column], found[:, 0])
                if column == 1:
                    row["spread"] = float(spread.std(ddof=1)) if len(spread) > 1 else None
                made.append(row)
            other = f"{job.kind} | {job.weights} | {CONTROL}"
            if job.task == UAS and other in self.merged.columns:
                gap = found[:, 1] - self.merged.columns[other][:, 1]
                made.append(
                    self._row(job.kind, job.weights, SELECTIVITY, gap, found[:, 0], share=False)
                )
        return [*made, *self._baselines()]

    def _baselines(self) -> Iterator[Row]:
        train, test = self.parts["train"], self.parts["test"]
        offset, offsets = trees.best_offset(train), trees.best_offsets(train)
        ways: dict[str, Callable[[Sentence], Ints]] = {
            "right-branching": trees.right_branching,
            f"fixed offset ({offset:+d})": lambda one: trees.at_offset(one, offset),
            "fixed offset by relation": lambda one: trees.by_relation(one, offsets),
        }
        for name, way in ways.items():
            right = np.array([trees.right(one, way(one)) for one in test], dtype=float)
            words = np.array([one.scored.sum() for one in test], dtype=float)
            yield self._row(name, NONE, UAS, right, words)

    def _row(
        self, probe: str, weights: str, measure: str, right: Floats, words: Floats, *,
        share: bool = True,
    ) -> Row:  # fmt: skip
        sums, counts = np.zeros(BUCKETS), np.zeros(BUCKETS)
        places = [bucket_of(one.unit) for one in self.parts["test"]]
        np.add.at(sums, places, right)
        np.add.at(counts, places, words)
        found = estimate(sums, counts, share=share)
        low, high = (None if np.isnan(bound) else float(bound) for bound in (found.low, found.high))
        return {"probe": probe, "weights": weights, "measure": measure,
                "value": float(found.value), "low": low, "high": high, "n": int(found.n),
                "spread": None}  # fmt: skip


@contextmanager
def temporary(folder: Path | None) -> Iterator[Store]:
    """A file without a name, gone when it is closed, or when the process is."""
    with tempfile.TemporaryFile(dir=folder) as file:
        yield cast(Store, file)


def _right(sentence: Sentence, heads: Ints, gold: Gold) -> int:
    return int((sentence.scored & (heads == gold(sentence))).sum())


def own_vectors(model: Model, words: list[str]) -> Tensor:
    """(word, size) the mean input embedding of the pieces of each word."""
    embed = cast(nn.Embedding, model.network.get_input_embeddings())
    with torch.no_grad():
        pieces = model.tokenizer(words, add_special_tokens=False)["input_ids"]
        table = embed.weight.detach().float().cpu()
        rows = [table[torch.tensor(ids)].mean(0) if ids else table.new_zeros(table.shape[1])
                for ids in pieces]  # fmt: skip
    return torch.stack(rows)


def held_out(sentences: list[Sentence]) -> tuple[list[Sentence], list[Sentence]]:
    """Some documents for the development part, by the hash of their names; the rest to learn."""
    order = sorted({one.unit for one in sentences}, key=lambda unit: stable_hash(f"dev {unit}"))
    chosen: set[str] = set()
    wanted, taken = max(1, round(DEV * len(sentences))), 0
    sizes = dict.fromkeys(order, 0)
    for one in sentences:
        sizes[one.unit] += 1
    for unit in order[:-1]:
        if taken >= wanted:
            break
        chosen.add(unit)
        taken += sizes[unit]
    return ([one for one in sentences if one.unit not in chosen],
            [one for one in sentences if one.unit in chosen])  # fmt: skip
