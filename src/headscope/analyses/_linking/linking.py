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
from headscope.corpus import Conventions, Example, Link, Pieces, stable_hash
from headscope.corpus.display import MAX_WORDS
from headscope.evidence import (
    Candidates,
    Mean,
    Null,
    RankedExample,
    ShownText,
    Statistic,
    Tally,
    Unit,
)
from headscope.evidence.ranked_examples import Number
from headscope.model import Batch
from headscope.model.attention import Largest, LargestFrom, Request, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

HEADLINES = {
    "row": "words that look at what they are linked to",
    "column": "words looked at by what they are linked to",
    "head-row": "words that look at what is linked to them",
}


class Linking(Analysis):
    """How often a head's largest weight falls on a linked word.

    A subclass says which links; `pooled` says which labels are also counted together.
    """

    options_type = LinkingOptions

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
        self._shown: dict[int, Pieces] = {}
        self._drawn: dict[int, list[NDArray[np.int16]]] = {}
        self._gains: dict[int, list[NDArray[np.float32]]] = {}

    def begin_examples(self, shard: list[Pieces]) -> None:
        """Texts that have links and can be shown."""
        fitting = [pieces for pieces in shard if len(pieces.words) <= MAX_WORDS]
        linked = [pieces for pieces in fitting if self.linked(pieces, self.options)]
        self._shown = {id(pieces): pieces for pieces in linked}
        self._drawn = {key: [] for key in self._shown}
        self._gains = {key: [] for key in self._shown}

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
        if self._shown:
            expected = view.once((self, "expected"), lambda: self._expected(cases, counts))
            self._keep(torch.stack([row, column], 1), hits - expected, view)

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

    def _expected(self, cases: Cases, counts: Tensor) -> Tensor:
        """(example, 1, direction and label) the hits of a choice by offsets alone; NaN where there
        is no case.
        """
        chance = (cases.gold * cases.chance).sum(1, keepdim=True).clamp_max(1)
        expected = cases.sums(chance, len(counts), len(self.labels))
        return expected.masked_fill(counts == 0, float("nan"))

    def _keep(self, choices: Tensor, gains: Tensor, view: View) -> None:
        """Keep what every head of the layer draws on texts that can be shown, and its score.

        Args:
            choices: (example, row or column, head, unit)
            gains: (example, head, direction and label) hits above what offsets alone would score.
        """
        drawn, scores = choices.cpu().numpy(), gains.float().cpu().numpy()
        for example, pieces in enumerate(view.tokens.pieces):
            if id(pieces) in self._shown:
                place = pieces.place
                units = np.where(place >= 0, drawn[example][..., place], -1)
                self._drawn[id(pieces)].append(pieces.words_at(units))
                self._gains[id(pieces)].append(scores[example])

    def candidates(self) -> Iterator[Candidates]:
        """Texts by what a head finds in them beyond what offsets would: most are its hits on words
        that stand far from their usual place, least its misses of those that stand there.
        """
        texts: tuple[list[ShownText], list[ShownText]] = ([], [])
        gains = []
        for key, pieces in self._shown.items():
            if not self._drawn[key]:
                continue
            links = [[each.source, each.target, each.label] for each in self._links_of(pieces)]
            record = {"words": list(pieces.words), "links": links}
            drawn = np.concatenate(self._drawn[key], 1)  # (row or column, head of all layers, word)
            name, rank = pieces.example.id, stable_hash(pieces.example.id)
            for part, own in zip(texts, drawn, strict=True):
                part.append(ShownText(name, rank, record, own))
            gains.append(np.concatenate(self._gains[key]))  # (head of all layers, label)
        if gains:
            yield from self._scored(np.stack(gains), texts)

    def _links_of(self, pieces: Pieces) -> list[Link]:
        return self.linked(pieces, self.options)

    def _scored(
        self, gains: NDArray[np.float32], texts: tuple[list[ShownText], list[ShownText]]
    ) -> Iterator[Candidates]:
        """The same texts for every relation that is reported, in every direction.

        Args:
            gains: (text, head, direction and label)
            texts: with the choices of rows, and of columns.
        """
        names = list(self.labels)
        for place, direction in enumerate(DIRECTIONS):
            part = gains[..., place * len(names) : (place + 1) * len(names)]
            for group in self._reported:
                members = [names.index(label) for label in self.pooled[group]]
                if len(members) > len(names) // 2 > 1:
                    continue  # nearly all words: arcs on every word of a sentence tell nothing
                some = part[..., members]
                scores = np.nansum(some, -1)
                scores[np.isnan(some).all(-1)] = np.nan
                shown = texts[direction == "column"]
                yield Candidates("accuracy", scores, shown, group, direction)

    def render_example(self, example: RankedExample, number: Number) -> Scene:
        """The arcs of one relation, as the annotation has them and as the head draws them."""
        _, direction, group = number
        members = self.pooled[group or ""]
        links = [(s, t) for s, t, label in example.record["links"] if label in members and t >= 0]
        if direction == "head-row":
            links = [(target, source) for source, target in links]
        gold: dict[int, list[int]] = defaultdict(list)
        for query, answer in links:
            gold[query].append(answer)
        choice = example.drawn
        arcs = tuple(
            Arc(query, tuple(answers), int(choice[query]), int(choice[query]) in answers)
            for query, answers in sorted(gold.items())
        )
        return Scene(example.id, tuple(example.record["words"]), arcs)

    @property
    def _reported(self) -> list[str]:
        """The groups that are frequent enough to be reported."""
        return [
            name
            for name, members in self.pooled.items()
            if sum(self.facts.counts[label] for label in members) >= self.conventions.min_count
        ]

    def statistics(self) -> Iterator[Statistic]:
        labels, groups = list(self.labels), self._reported
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
