"""Do heads find linked words? The machinery of dependencies, and of any links a user brings."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses._linking.chance import Rates, from_sources, from_targets
from headscope.analyses._linking.offsets import FIXED, Offsets, best_fixed
from headscope.analyses._linking.questions import Questions, ask
from headscope.analyses.base import Analysis, Arc, Scene, option
from headscope.corpus import Conventions, Example, Link, Pieces, bucket_of
from headscope.corpus.display import display_rank
from headscope.evidence import BestHead, Exemplar, Exemplars, Null, Statistic, Tally, Unit
from headscope.model import Batch, LayerAttention, WordAttention

DIRECTIONS = ("row", "column", "head-row")
"""Whom the source looks at; who looks at the source; whom the target looks at (Voita's)."""
HEADLINES = {
    "row": "words that look at what they are linked to",
    "column": "words looked at by what they are linked to",
    "head-row": "words that look at what is linked to them",
}
SHOWN = 3
"""Example sentences per label."""


@dataclass(frozen=True)
class LinkingOptions:
    """How the baseline of fixed offsets is scored."""

    clip_offsets: bool = option(False, "A fixed offset outside the text guesses the text's edge.")


class LinkFacts:
    """What position alone knows of a corpus's links."""

    def __init__(
        self, kind: type[Linking], options: LinkingOptions, conventions: Conventions
    ) -> None:
        self.kind, self.options, self.min_count = kind, options, conventions.min_count
        self.labels: dict[str, int] = {}
        self.counts: Counter[str] = Counter()
        clip = options.clip_offsets
        self.centres = Offsets(clip), Offsets(clip)  # around sources, around targets

    def count(self, shard: list[Pieces]) -> None:
        """Count the links of some texts."""
        links = [self.kind.linked(pieces, self.options) for pieces in shard]
        for link in (link for linked in links for link in linked):
            self.labels.setdefault(link.label, len(self.labels))
        buckets = np.array([bucket_of(pieces.example.unit) for pieces in shard])
        units = [pieces.unit[pieces.word >= 0] for pieces in shard]
        first = np.array([one[0] if len(one) else 0 for one in units])
        last = np.array([one[-1] if len(one) else 0 for one in units])
        asked = ask(shard, links, self.labels)
        for centre, questions in zip(self.centres, asked, strict=True):
            centre.count(questions, buckets, first, last)
        names = list(self.labels)
        numbers = np.bincount(asked[0].label, minlength=len(names))
        self.counts.update(dict(zip(names, numbers.tolist(), strict=True)))

    def missing(self) -> str | None:
        """Too few links to report any."""
        total = sum(self.counts.values())
        if total >= self.min_count:
            return None
        return f"it has {total} links and --min-count is {self.min_count}"


@dataclass(frozen=True)
class Cases:
    """The questions of a batch, those of every direction one after the other.

    Attributes:
        example, query: (case,)
        label: (case,) direction and label in one number.
        gold: (case, unit + 1) 1 where the word is an answer; the last place is for no word.
        chance: (case, unit + 1) how likely it would be by offsets alone.
        column: how many cases there are before those of the direction `column`, and with them.
    """

    example: Tensor
    query: Tensor
    label: Tensor
    gold: Tensor
    chance: Tensor
    column: tuple[int, int]

    @classmethod
    def of(
        cls, batch: Batch, asked: tuple[Questions, Questions], rates: Rates, labels: int
    ) -> Cases:
        """All questions of all examples."""
        parts = (asked[0], asked[0], asked[1])  # by direction
        sizes = [len(part.query) for part in parts]
        units = batch.units.text.shape[1] + 1
        gold = [np.zeros((len(part.query), units), np.float32) for part in asked]
        for part, table in zip(asked, gold, strict=True):
            table[part.case, part.answer] = 1
        chance = [
            from_sources(rates, asked[0], gold[0]),
            from_targets(rates, asked[0], asked[1], gold[1]),
        ]
        chance[0][:, -1] = 0
        arrays = (
            np.concatenate([part.example for part in parts]),
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.label + place * labels for place, part in enumerate(parts)]),
            np.concatenate([gold[0], gold[0], gold[1]]),
            np.concatenate([chance[0], chance[0], chance[1]]),
        )
        example, query, label, answers, likely = (
            torch.from_numpy(array).to(batch.ids.device) for array in arrays
        )
        return cls(example, query, label, answers, likely, (sizes[0], sizes[0] + sizes[1]))

    def drawn(self, words: WordAttention) -> Tensor:
        """(case, head) the words that the heads choose; the place after the last for none."""
        start, end = self.column
        rows = words.row[self.example, :, self.query]
        rows[start:end] = words.column[self.example[start:end], :, self.query[start:end]]
        return rows.masked_fill_(rows < 0, self.gold.shape[1] - 1)

    def sums(self, values: Tensor, examples: int, labels: int) -> Tensor:
        """(example, head, direction and label) from (case, head)."""
        size = len(DIRECTIONS) * labels
        total = values.new_zeros(examples * size, values.shape[1])
        total.index_add_(0, self.example * size + self.label, values)
        return total.view(examples, size, -1).transpose(1, 2)


class Linking(Analysis):
    """How often a head's largest weight falls on a linked word.

    A subclass says which links; `pooled` says which labels are also counted together.
    """

    options_type = LinkingOptions
    example_statistic = "accuracy"

    @staticmethod
    @abstractmethod
    def links(example: Example, options: Any) -> Iterator[Link]:
        """The links of an example."""

    @classmethod
    def linked(cls, pieces: Pieces, options: LinkingOptions) -> list[Link]:
        """The links of an example, found once for survey and pass."""
        return pieces.once((cls, options), lambda example: list(cls.links(example, options)))

    @cached_property
    @abstractmethod
    def pooled(self) -> dict[str, list[str]]:
        """Names of groups and the labels that belong to each."""

    @classmethod
    def corpus_facts(cls, options: LinkingOptions, conventions: Conventions) -> LinkFacts:
        return LinkFacts(cls, options, conventions)

    def make_tallies(self) -> None:
        found = self.survey.facts[self.name]
        assert isinstance(found, LinkFacts)
        self.known = found
        self.labels = found.labels
        size = len(DIRECTIONS) * len(self.labels)
        self.rates = Rates.of(found.centres[0], len(self.labels))
        self.hits, self.matched = Tally(self.shape, size), Tally(self.shape, size)
        self.spread = Tally(replace(self.shape, buckets=2), size)  # by half of the buckets
        self._chosen: dict[int, Pieces] = {}
        self._wanted: dict[str, list[int]] = {}
        self._drawn: dict[int, list[NDArray[np.int16]]] = {}

    def begin_shard(self, shard: list[Pieces]) -> None:
        """Choose the texts of each label that rank lowest."""
        order = sorted(shard, key=lambda pieces: (display_rank(pieces), pieces.example.id))
        for pieces in order:
            for label in {link.label for link in self.linked(pieces, self.options)}:
                wanted = self._wanted.setdefault(label, [])
                if len(wanted) < SHOWN:
                    wanted.append(id(pieces))
                    self._chosen[id(pieces)] = pieces
        self._drawn = {key: [] for key in self._chosen}

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        cases, counts, halves = batch.once(self, lambda: self._ask(batch))
        if not len(cases.query):
            return
        words = attention.words(self.conventions.pieces)
        size = (len(batch.pieces), len(self.labels))
        drawn = cases.drawn(words)
        hit, chance = cases.gold.gather(1, drawn), cases.chance.gather(1, drawn)
        found = torch.cat([hit, chance, chance * (1 - chance)], 1)  # summed in one go
        hits, matched, spread = cases.sums(found, *size).chunk(3, 1)
        self.hits.add(attention.layer, hits, counts, batch.buckets)
        self.matched.add(attention.layer, matched, counts, batch.buckets)
        self.spread.add(attention.layer, spread, counts, halves)
        self._keep(words, batch)

    def _ask(self, batch: Batch) -> tuple[Cases, Tensor, Tensor]:
        links = [self.linked(pieces, self.options) for pieces in batch.pieces]
        asked = ask(batch.pieces, links, self.labels)
        cases = Cases.of(batch, asked, self.rates, len(self.labels))
        ones = torch.ones(len(cases.query), 1, device=batch.ids.device)
        counts = cases.sums(ones, len(batch.pieces), len(self.labels))
        return cases, counts, batch.buckets % 2

    def _keep(self, words: WordAttention, batch: Batch) -> None:
        """Keep what every head of the layer draws on the chosen texts."""
        for row, pieces in enumerate(batch.pieces):
            if id(pieces) in self._chosen:
                both = torch.stack([words.row[row], words.column[row]]).cpu().numpy()
                place = pieces.place
                drawn = np.where(place >= 0, both[..., place], -1)
                self._drawn[id(pieces)].append(pieces.words_at(drawn))

    def exemplars(self) -> dict[str, Exemplars]:
        stores = {}
        for label, wanted in self._wanted.items():
            store = stores[label] = Exemplars(SHOWN)
            for key in wanted:
                pieces = self._chosen[key]
                links = [
                    [link.source, link.target, link.label]
                    for link in self.linked(pieces, self.options)
                ]
                record = {"words": list(pieces.words), "links": links}
                drawn = np.stack(self._drawn[key])  # (layer, direction, head, word)
                arrays = {"drawn": drawn.swapaxes(1, 2)}
                store.offer(Exemplar(display_rank(pieces), pieces.example.id, record, arrays))
        return stores

    def example_groups(self, group: str | None) -> list[str]:
        members = self.pooled[group or ""]
        return [] if len(members) > len(self.labels) // 2 > 1 else members

    def render_example(self, exemplar: Exemplar, best: BestHead) -> Scene:
        """The arcs of one relation, as the annotation has them and as the head draws them."""
        members = self.pooled[best.group or ""]
        links = [(s, t) for s, t, label in exemplar.record["links"] if label in members and t >= 0]
        if best.direction == "head-row":
            links = [(target, source) for source, target in links]
        gold: dict[int, list[int]] = defaultdict(list)
        for query, answer in links:
            gold[query].append(answer)
        drawn = exemplar.arrays["drawn"][best.layer, best.head]
        choice = drawn[1 if best.direction == "column" else 0]
        arcs = tuple(
            Arc(query, tuple(answers), int(choice[query]), int(choice[query]) in answers)
            for query, answers in sorted(gold.items())
        )
        return Scene(exemplar.id, tuple(exemplar.record["words"]), arcs)

    def statistics(self) -> Iterator[Statistic]:
        labels = list(self.labels)
        groups = [
            name
            for name, members in self.pooled.items()
            if sum(self.known.counts[label] for label in members) >= self.conventions.min_count
        ]
        if not groups:
            return
        members = np.array(
            [[float(label in self.pooled[name]) for name in groups] for label in labels]
        )
        for place, direction in enumerate(DIRECTIONS):
            part = slice(place * len(labels), (place + 1) * len(labels))
            tallies = (self.hits, self.matched, self.spread)
            hits, matched, spread = (tally.part(part).pool(members) for tally in tallies)
            offsets = self.known.centres[direction == "head-row"]
            fixed, cases = (one @ members for one in offsets.fixed_hits(len(labels)))
            null = Null(matched, spread.sums)
            yield from self._about(tuple(groups), direction, hits, null, (fixed, cases))

    def _about(
        self,
        groups: tuple[str, ...],
        direction: str,
        hits: Tally,
        null: Null,
        offsets: tuple[NDArray[np.float64], NDArray[np.float64]],
    ) -> Iterator[Statistic]:
        """Accuracy, what it gains over the best fixed offset, and the fixed offsets themselves."""
        fixed, cases = offsets  # (bucket, offset, group), (bucket, group)
        count = cases[:, None, None]
        baseline = Tally.of(best_fixed(fixed)[:, None, None], count)
        yield Statistic(
            "accuracy", hits, baseline, Unit.SHARE,
            "how often the largest weight falls on the linked word",
            groups, direction, {"all": HEADLINES[direction]}, null=null,
        )  # fmt: skip
        yield Statistic(
            "gain", Tally.of(hits.sums - baseline.sums, hits.counts),
            Tally.of(np.zeros_like(baseline.sums), count), Unit.POINTS,
            "accuracy above the best fixed offset",
            groups, direction,
        )  # fmt: skip
        if direction == "column":
            return  # asked around the same words as "row"
        for place, offset in enumerate(FIXED):
            yield Statistic(
                "fixed_offset_head_row" if direction == "head-row" else "fixed_offset",
                Tally.of(fixed[:, None, None, place], count), None, Unit.SHARE,
                "how often the word at this offset is the linked one",
                groups, f"{offset:+d}",
            )  # fmt: skip
