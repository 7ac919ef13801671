"""Do heads find linked words? The machinery of dependencies, and of any links a user brings."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.base import Analysis, Arc, Scene
from headscope.analyses.maps import rank
from headscope.analyses.offsets import FIXED, Offsets, Rates
from headscope.corpus import Example, Link, Pieces, Rules, bucket_of
from headscope.evidence import Exemplar, Exemplars, Statistic, Tally, Unit, crossfit
from headscope.model import Batch, LayerAttention, WordAttention

DIRECTIONS = ("row", "column", "head-row")
"""Whom the source looks at; who looks at the source; whom the target looks at (Voita's)."""
SHOWN = 3
"""Example sentences per label."""
SYNTACTIC = 0.10
"""So many points above the best fixed offset a head must be to be called syntactic (Voita)."""

Answers = dict[tuple[int, str], list[int]]
"""By word and label, the words that answer; words are units of the word-level map."""


def questions(pieces: Pieces, links: Iterable[Link]) -> tuple[Answers, Answers]:
    """What is asked of a text: by source, and by target. Words without pieces are left out."""
    place = pieces.place
    sources: Answers = defaultdict(list)
    targets: Answers = defaultdict(list)
    for link in links:
        source = int(place[link.source])
        target = int(place[link.target]) if link.target >= 0 else -1
        if source >= 0 and (target >= 0 or link.target < 0):
            answers = sources[source, link.label]
            if target >= 0:
                answers.append(target)
                targets[target, link.label].append(source)
    return sources, targets


class LinkFacts:
    """What position alone knows of a corpus's links."""

    def __init__(self, kind: type[Linking], rules: Rules) -> None:
        self.kind, self.rules = kind, rules
        self.labels: dict[str, int] = {}
        self.counts: Counter[str] = Counter()
        self.centres = Offsets(rules.clip), Offsets(rules.clip)  # around sources, around targets

    def count(self, pieces: Pieces) -> None:
        """Count the links of one text."""
        bucket = bucket_of(pieces.example.unit)
        units = pieces.unit[pieces.word >= 0]
        asked = questions(pieces, self.kind.links(pieces.example, self.rules))
        for centre, answers in zip(self.centres, asked, strict=True):
            for (query, label), gold in answers.items():
                number = self.labels.setdefault(label, len(self.labels))
                first, last = int(units[0]), int(units[-1])
                moved = [answer - first for answer in gold]
                centre.count(bucket, number, query - first, moved, last - first)
        self.counts.update(label for _, label in asked[0])


@dataclass(frozen=True)
class Cases:
    """The questions of a batch around one kind of word.

    Attributes:
        example, query, label: (case,); gold: (case, answer), -2 where there are fewer.
    """

    example: Tensor
    query: Tensor
    label: Tensor
    gold: Tensor

    @classmethod
    def of(cls, asked: list[Answers], labels: dict[str, int], device: torch.device) -> Cases:
        """All questions of all examples."""
        flat = [
            (row, query, labels[label], gold)
            for row, answers in enumerate(asked)
            for (query, label), gold in answers.items()
        ]
        width = max((len(gold) for *_, gold in flat), default=1) or 1
        table = [(*known, *gold, *[-2] * (width - len(gold))) for *known, gold in flat]
        columns = torch.tensor(table, dtype=torch.long, device=device).view(len(table), 3 + width)
        return cls(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3:])

    def sums(self, values: Tensor, examples: int, labels: int) -> Tensor:
        """(example, head, label) from (case, head)."""
        total = values.new_zeros(examples * labels, values.shape[1])
        total.index_add_(0, self.example * labels + self.label, values)
        return total.view(examples, labels, -1).transpose(1, 2)


class Linking(Analysis):
    """How often a head's largest weight falls on a linked word.

    A subclass says which links; `pooled` says which labels are also counted together.
    """

    label_name: ClassVar[str | None] = None
    shown = "accuracy"

    @staticmethod
    @abstractmethod
    def links(example: Example, rules: Rules) -> Iterator[Link]:
        """The links of an example."""

    @abstractmethod
    def pooled(self, labels: list[str]) -> dict[str, list[str]]:
        """Names of groups and the labels that belong to each."""

    @classmethod
    def facts(cls, rules: Rules) -> LinkFacts:
        return LinkFacts(cls, rules)

    def start(self) -> None:
        found = self.survey.facts[self.name]
        assert isinstance(found, LinkFacts)
        self.known = found
        self.labels = found.labels
        self.rates: list[Rates] = [centre.tables(len(self.labels)) for centre in found.centres]
        size = len(DIRECTIONS) * len(self.labels)
        self.hits, self.matched = Tally(self.shape, size), Tally(self.shape, size)
        self._chosen: dict[int, Pieces] = {}
        self._wanted: dict[str, list[int]] = {}
        self._drawn: dict[int, list[NDArray[np.int16]]] = {}

    def begin(self, shard: list[Pieces]) -> None:
        """Choose the texts of each label that rank lowest."""
        order = sorted(shard, key=lambda pieces: (rank(pieces), pieces.example.id))
        for pieces in order:
            for label in {link.label for link in self.links(pieces.example, self.rules)}:
                wanted = self._wanted.setdefault(label, [])
                if len(wanted) < SHOWN:
                    wanted.append(id(pieces))
                    self._chosen[id(pieces)] = pieces
        self._drawn = {key: [] for key in self._chosen}

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        sources, targets, counts = attention.visible.once(self, lambda: self._ask(batch))
        words = attention.words(self.rules.pieces)
        examples, labels = len(batch.pieces), len(self.labels)
        hits, matched = [], []
        for cases, best, rates in (
            (sources, words.row, self.rates[0]),
            (sources, words.column, self.rates[0]),
            (targets, words.row, self.rates[1]),
        ):
            drawn = best[cases.example, :, cases.query]  # (case, head)
            hit = (drawn[:, :, None] == cases.gold[:, None]).any(-1).double()
            offset = torch.where(drawn < 0, 0, drawn - cases.query[:, None])
            hits.append(cases.sums(hit, examples, labels))
            matched.append(cases.sums(rates.of(cases.label, offset, hit), examples, labels))
        self.hits.add(attention.layer, torch.cat(hits, -1), counts, batch.buckets)
        self.matched.add(attention.layer, torch.cat(matched, -1), counts, batch.buckets)
        self._keep(words, batch)

    def _ask(self, batch: Batch) -> tuple[Cases, Cases, Tensor]:
        asked = [questions(one, self.links(one.example, self.rules)) for one in batch.pieces]
        made = [
            Cases.of([both[centre] for both in asked], self.labels, batch.ids.device)
            for centre in (0, 1)
        ]
        ones = [torch.ones(len(one.query), 1, dtype=torch.double) for one in made]
        size = (len(batch.pieces), len(self.labels))
        around = [one.sums(count, *size) for one, count in zip(made, ones, strict=True)]
        return made[0], made[1], torch.cat([around[0], around[0], around[1]], -1)

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
                    for link in self.links(pieces.example, self.rules)
                ]
                record = {"words": list(pieces.words), "links": links}
                drawn = np.stack(self._drawn[key])  # (layer, direction, head, word)
                arrays = {"drawn": drawn.swapaxes(1, 2)}
                store.offer(Exemplar(rank(pieces), pieces.example.id, record, arrays))
        return stores

    def exemplary(self, group: str | None) -> list[str]:
        members = self.pooled(list(self.labels))[group or ""]
        return [] if len(members) > len(self.labels) // 2 > 1 else members

    def scene(self, exemplar: Exemplar, row: dict[str, Any]) -> Scene:
        """The arcs of one relation, as the annotation has them and as the head draws them."""
        members = self.pooled(list(self.labels))[row["group"]]
        links = [(s, t) for s, t, label in exemplar.record["links"] if label in members and t >= 0]
        if row["direction"] == "head-row":
            links = [(target, source) for source, target in links]
        gold: dict[int, list[int]] = defaultdict(list)
        for query, answer in links:
            gold[query].append(answer)
        drawn = exemplar.arrays["drawn"][row["layer"], row["head"]]
        choice = drawn[1 if row["direction"] == "column" else 0]
        arcs = tuple(Arc(q, tuple(answers), int(choice[q])) for q, answers in sorted(gold.items()))
        return Scene(exemplar.id, tuple(exemplar.record["words"]), arcs)

    def statistics(self) -> Iterator[Statistic]:
        labels = list(self.labels)
        pooled = self.pooled(labels)
        groups = [
            name
            for name, members in pooled.items()
            if sum(self.known.counts[label] for label in members) >= self.rules.min_count
        ]
        if not groups:
            return
        members = np.array([[float(label in pooled[name]) for name in groups] for label in labels])
        for place, direction in enumerate(DIRECTIONS):
            part = slice(place * len(labels), (place + 1) * len(labels))
            hits, matched = (tally.part(part).pool(members) for tally in (self.hits, self.matched))
            offsets = self.known.centres[direction == "head-row"]
            fixed, cases = (one @ members for one in offsets.fixed_hits(len(labels)))
            yield from self._about(tuple(groups), direction, hits, matched, (fixed, cases))

    def _about(
        self,
        groups: tuple[str, ...],
        direction: str,
        hits: Tally,
        matched: Tally,
        offsets: tuple[NDArray[np.float64], NDArray[np.float64]],
    ) -> Iterator[Statistic]:
        """Accuracy, what it gains over the best fixed offset, and the fixed offsets themselves."""
        fixed, cases = offsets  # (bucket, offset, group), (bucket, group)
        count = cases[:, None, None]
        every = np.broadcast_to(cases[:, None], fixed.shape)
        baseline = Tally.of(crossfit(fixed, fixed, every)[:, None, None], count)
        yield Statistic(
            "accuracy", hits, baseline, Unit.SHARE,
            "how often the largest weight falls on the linked word",
            groups, direction, null=matched,
        )  # fmt: skip
        yield Statistic(
            "gain", Tally.of(hits.sums - baseline.sums, hits.counts),
            Tally.of(np.zeros_like(baseline.sums), count), Unit.POINTS,
            "accuracy above the best fixed offset",
            groups, direction, label=self.label_name, threshold=SYNTACTIC,
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
