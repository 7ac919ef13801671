"""Do heads find linked words? The machinery of dependencies, and of any links a user brings."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch
from headscope.analyses._linking.cases import DIRECTIONS, Cases
from headscope.analyses._linking.chance import Rates
from headscope.analyses._linking.facts import LinkFacts, LinkingOptions
from headscope.analyses._linking.offsets import FIXED, best_fixed
from headscope.analyses._linking.questions import ask
from headscope.analyses.base import Analysis, Arc, Scene
from headscope.corpus import Conventions, Example, Link, Pieces
from headscope.corpus.display import display_rank
from headscope.evidence import BestHead, Exemplar, Exemplars, Mean, Null, Statistic, Tally, Unit
from headscope.model import Batch
from headscope.model.attention import Largest, LargestFrom, Request, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

HEADLINES = {
    "row": "words that look at what they are linked to",
    "column": "words looked at by what they are linked to",
    "head-row": "words that look at what is linked to them",
}
SHOWN = 3
"""Example sentences per label."""


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
        facts = self.survey.facts[self.name]
        assert isinstance(facts, LinkFacts)
        self.facts, self.labels = facts, facts.labels
        size = len(DIRECTIONS) * len(self.labels)
        self.rates = Rates.of(facts.centres[0], len(self.labels))
        self.hits = Mean(self.layout, size, baseline=False)
        self.matched = Mean(self.layout, size, baseline=False)
        self.spread = Tally(replace(self.layout, buckets=2), size)  # by half of the buckets
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

    def ask(self, view: View) -> dict[str, Request]:
        if not len(self._cases(view)[0].query):
            return {}
        words, how = view.tokens.words, self.conventions.pieces
        return {
            "row": Largest(words, words=how, queries=words, itself=False),
            "column": LargestFrom(words, words=how, keys=words, itself=False),
        }

    def observe(self, seen: Seen) -> None:
        view, row, column = seen.view, seen["row"].place, seen["column"].place
        cases, counts, halves = self._cases(view)
        drawn = cases.drawn(row, column)
        hit, chance = cases.gold.gather(1, drawn), cases.chance.gather(1, drawn)
        values = torch.cat([hit, chance, chance * (1 - chance)], 1)  # summed in one go
        sums = cases.sums(values, len(view.buckets), len(self.labels))
        hits, matched, spread = sums.chunk(3, 1)
        self.hits.add(seen, hits, counts)
        self.matched.add(seen, matched, counts)
        self.spread.add(seen.site.layer, spread, counts, halves)
        self._keep(torch.stack([row, column], 1), view)

    def _cases(self, view: View) -> tuple[Cases, Tensor, Tensor]:
        """The questions of a batch, how many there are of each label, and halves of the data."""
        return view.once(self, lambda: self._find_cases(view.tokens))

    def _find_cases(self, batch: Batch) -> tuple[Cases, Tensor, Tensor]:
        links = [self.linked(pieces, self.options) for pieces in batch.pieces]
        asked = ask(batch.pieces, links, self.labels)
        cases = Cases.of(batch, asked, self.rates, len(self.labels))
        ones = torch.ones(len(cases.query), 1, device=batch.ids.device)
        counts = cases.sums(ones, len(batch.pieces), len(self.labels))
        return cases, counts, batch.buckets % 2

    def _keep(self, choices: Tensor, view: View) -> None:
        """Keep what every head of the layer draws on the chosen texts.

        Args:
            choices: (example, row or column, head, unit)
        """
        for example, pieces in enumerate(view.tokens.pieces):
            if id(pieces) in self._chosen:
                place = pieces.place
                drawn = np.where(place >= 0, choices[example].cpu().numpy()[..., place], -1)
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
                drawn = np.concatenate(self._drawn[key], 1)  # (direction, head of all layers, word)
                arrays = {"drawn": drawn.swapaxes(0, 1)}
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
        drawn = exemplar.arrays["drawn"][self.layout.places.index(best.place)]
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
            if sum(self.facts.counts[label] for label in members) >= self.conventions.min_count
        ]
        if not groups:
            return
        members = np.array(
            [[float(label in self.pooled[name]) for name in groups] for label in labels]
        )
        for place, direction in enumerate(DIRECTIONS):
            part = slice(place * len(labels), (place + 1) * len(labels))
            tallies = (self.hits.tally, self.matched.tally, self.spread)
            hits, matched, spread = (tally.part(part).pool(members) for tally in tallies)
            offsets = self.facts.centres[direction == "head-row"]
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
            "accuracy",
            hits,
            baseline,
            Unit.SHARE,
            "how often the largest weight falls on the linked word",
            groups,
            direction,
            {"all": HEADLINES[direction]},
            null=null,
        )
        yield Statistic(
            "gain",
            Tally.of(hits.sums - baseline.sums, hits.counts),
            Tally.of(np.zeros_like(baseline.sums), count),
            Unit.POINTS,
            "accuracy above the best fixed offset",
            groups,
            direction,
        )
        if direction == "column":
            return  # asked around the same words as "row"
        for place, offset in enumerate(FIXED):
            yield Statistic(
                "fixed_offset_head_row" if direction == "head-row" else "fixed_offset",
                Tally.of(fixed[:, None, None, place], count),
                None,
                Unit.SHARE,
                "how often the word at this offset is the linked one",
                groups,
                f"{offset:+d}",
            )
