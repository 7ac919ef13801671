"""Coreference: heads that find antecedents (Clark et al. 2019, section 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, Arc, Inputs, Scene, analysis
from headscope.corpus import Annotation, Pieces, stable_hash
from headscope.corpus.mentions import (
    BASELINES,
    MENTION_TYPES,
    CoreferenceMention,
    coreference_mentions,
)
from headscope.evidence import (
    Candidates,
    Mean,
    Null,
    RankedExample,
    ShownText,
    Statistic,
    Tally,
    Unit,
    strongest,
)
from headscope.evidence.ranked_examples import Number
from headscope.evidence.role_rule import OURS, RoleKind, RoleRule
from headscope.model import Batch
from headscope.model.attention import At, Request, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

GROUPS = ("all", *MENTION_TYPES)
HEADLINES = {"all": "antecedents of mentions", "pronoun": "antecedents of pronouns"}
REFERENCES = {
    "nearest": "the nearest earlier mention",
    "head_match": "the nearest earlier mention with the same head word, else the nearest",
    "sieve": "full string match, then head-word match, then agreement in number, gender and "
    "person, then the nearest",
    "chance": "an earlier mention at random",
}
RULES = {
    "nearest": "the nearest mention",
    "head_match": "head-word match",
    "sieve": "the sieve",
}
"""The baselines that a head must beat, and what sentences call them."""
NEAR, FAR = 3, 30
"""An antecedent so many words away makes an example that can be read."""
MARGIN = 5
"""Words that an excerpt has around what it shows."""

Key = tuple[int, int]
"""A window, and the number of a case in it."""


@dataclass(frozen=True)
class Case:
    """A mention with an earlier mention of its chain in the window.

    Attributes:
        mention: the mention; earlier: all mentions before it, the candidates.
    """

    mention: CoreferenceMention
    earlier: tuple[CoreferenceMention, ...]

    @property
    def gold(self) -> list[int]:
        """Which of the earlier mentions are right."""
        return [n for n, one in enumerate(self.earlier) if one.chain == self.mention.chain]

    def references(self) -> list[float]:
        """How right each baseline is."""
        gold = set(self.gold)
        right = [float(choose(self.mention, self.earlier) in gold) for choose in BASELINES.values()]
        return [*right, len(gold) / len(self.earlier)]


def cases(pieces: Pieces) -> list[Case]:
    """The questions of a window; mentions whose head word has no pieces are not there."""
    place = pieces.place
    mentions = [
        entity for entity in coreference_mentions(pieces.example) if place[entity.head] >= 0
    ]
    asked = [Case(mention, tuple(mentions[:number])) for number, mention in enumerate(mentions)]
    return [case for case in asked if case.gold]


@dataclass(frozen=True)
class Asked:
    """The cases of a batch and their candidates, case by case.

    Attributes:
        example, query: (case,) the text, and the unit of the mention's head word.
        member: (case, group) whether the case counts in the group.
        case, unit: (candidate,) whose candidate it is, and its head word.
        gold: (candidate + 1,) 1 where it refers to the same; the last is for no choice.
    """

    example: Tensor
    query: Tensor
    member: Tensor
    case: Tensor
    unit: Tensor
    gold: Tensor

    @classmethod
    def of(cls, batch: Batch, asked: list[tuple[int, Case]]) -> Asked:
        """From cases and the rows of their texts."""
        member = np.zeros((len(asked), len(GROUPS)), np.float32)
        member[:, 0] = 1
        query = np.zeros(len(asked), np.int64)
        candidates: list[tuple[int, int, bool]] = []
        for number, (row, case) in enumerate(asked):
            place = batch.pieces[row].place
            units = place[[mention.head for mention in case.earlier]].tolist()
            right = set(case.gold)
            candidates += sorted((number, unit, n in right) for n, unit in enumerate(units))
            member[number, GROUPS.index(case.mention.kind)] = 1
            query[number] = place[case.mention.head]
        table = np.array([*candidates, (-1, -1, False)], dtype=np.int64)
        example = np.array([row for row, _ in asked], dtype=np.int64)
        arrays = (
            example,
            query,
            member,
            table[:-1, 0],
            table[:, 1],
            table[:, 2].astype(np.float32),
        )
        return cls(*(torch.from_numpy(array).to(batch.ids.device) for array in arrays))

    def sums(self, values: Tensor, examples: int) -> Tensor:
        """(example, column, group) from (case, column)."""
        wide = values[:, :, None] * self.member[:, None]
        return wide.new_zeros(examples, *wide.shape[1:]).index_add_(0, self.example, wide)


@analysis("coreference")
class Coreference(Analysis):
    """How often a mention's head word, of all earlier mentions, looks most at one that refers to
    the same. The baseline is the strongest of three rules that need no head.

    Whole sentences of a document are packed into windows as long as the model or --max-length
    allows, without overlap; only mentions inside one window count. The head word of a mention is
    that of its tree, else its last word; mentions with the same head word are one. The rules take
    the nearest mention, the nearest with the same head word, or what a sieve of tests leaves; for
    each type of mention that one counts which is right most often on the same texts. A head that
    is 5 points above it is called coreferent.
    """

    page = "headscope.analyses._coreference.section"
    roles = (
        RoleRule(
            "coreferent",
            "of all earlier mentions looks most at an antecedent ({group}), {value} better than "
            "the strongest rule that needs no head",
            "gain",
            0.05,
            OURS,
            rank=30,
            confirmed_by="accuracy",
            unit=Unit.POINTS,
            kind=RoleKind.COREFERENCE,
            titles={"": "leads mentions to what they stand for ({group})"},
            mark="coref",
            baselines=RULES,
        ),
    )

    annotation = Annotation.MENTIONS
    inputs = Inputs.WINDOWS

    def make_tallies(self) -> None:
        self.hits = Mean(self.layout, len(GROUPS), baseline=False)
        self.references = Tally(self.layout, len(REFERENCES) * len(GROUPS), heads=1, layers=1)
        self._shown: dict[Key, tuple[Pieces, Case]] = {}
        self._drawn: dict[Key, list[NDArray[np.int16]]] = {}

    def begin_examples(self, shard: list[Pieces]) -> None:
        """Mentions that can be shown together with their nearest antecedent."""
        self._shown = {
            (id(pieces), number): (pieces, case)
            for pieces in shard
            for number, case in enumerate(cases(pieces))
            if NEAR <= case.mention.head - case.earlier[case.gold[-1]].head <= FAR
        }
        self._drawn = {key: [] for key in self._shown}

    def ask(self, view: View) -> dict[str, Request]:
        asked, *_ = view.once(self, lambda: self._asked(view.tokens))
        if not len(asked.query):
            return {}
        example, query = asked.example[asked.case], asked.query[asked.case]
        how = self.conventions.pieces
        return {"most": At(example, query, asked.unit[:-1], how, into=asked.case, largest=True)}

    def observe(self, seen: Seen) -> None:
        view = seen.view
        asked, references, counts, shown = view.once(self, lambda: self._asked(view.tokens))
        drawn = seen["most"].place  # (case, head) of all candidates, -1 for none
        self.hits.add(seen, asked.sums(asked.gold[drawn], len(view.buckets)), counts)
        if seen.site.place == 0:
            several = counts.repeat(1, 1, len(REFERENCES))
            self.references.add(0, references, several, view.buckets)
        self._keep(asked.unit[drawn], shown)

    def _asked(self, batch: Batch) -> tuple[Asked, Tensor, Tensor, dict[int, Key]]:
        """The cases, how right references are and how many cases there are (example, 1, ...), and
        which cases are shown.
        """
        numbered = [
            ((id(pieces), number), row, case)
            for row, pieces in enumerate(batch.pieces)
            for number, case in enumerate(cases(pieces))
        ]
        shown = {n: key for n, (key, _, _) in enumerate(numbered) if key in self._shown}
        asked = Asked.of(batch, [(row, case) for _, row, case in numbered])
        right = np.array([case.references() for *_, case in numbered], dtype=np.float32)
        right = right.reshape(len(numbered), len(REFERENCES))
        examples, device = len(batch.pieces), batch.ids.device
        references = asked.sums(torch.from_numpy(right).to(device), examples)
        counts = asked.sums(torch.ones(len(numbered), 1, device=device), examples)
        return asked, references.flatten(1)[:, None], counts, shown

    def _keep(self, drawn: Tensor, shown: dict[int, Key]) -> None:
        """Keep what every head chooses for the mentions that can be shown."""
        chosen = drawn.cpu().numpy()
        for number, key in shown.items():
            self._drawn[key].append(self._shown[key][0].words_at(chosen[number]))

    def candidates(self) -> Iterator[Candidates]:
        """Mentions by whether a head finds their antecedent, and the nearest mention does not."""
        shown: dict[str, list[tuple[ShownText, NDArray[np.float32]]]] = {}
        for key, (pieces, case) in self._shown.items():
            if not self._drawn[key]:
                continue
            drawn = np.concatenate(self._drawn[key])  # (head of all layers,)
            record = excerpt(pieces, case)
            nearest = case.references()[0]
            scores = np.isin(drawn, record["gold"]) - np.float32(nearest) / 2
            name = f"{pieces.example.id} word {case.mention.head}"
            text = ShownText(name, stable_hash(name), record, drawn[:, None])
            for group in ("all", case.mention.kind):
                shown.setdefault(group, []).append((text, scores.astype(np.float32)))
        for group, some in shown.items():
            texts = [text for text, _ in some]
            yield Candidates("accuracy", np.stack([scores for _, scores in some]), texts, group)

    def render_example(self, example: RankedExample, number: Number) -> Scene:
        """The mention, its antecedents in the excerpt, and the mention that the head chooses."""
        record = example.record
        end = record["start"] + len(record["words"])

        def inside(word: int) -> int:
            return word - record["start"] if record["start"] <= word < end else -1

        gold = tuple(inside(word) for word in record["gold"] if inside(word) >= 0)
        choice = int(example.drawn[0])
        right = choice in record["gold"]
        arc = Arc(inside(record["mention"]), gold, inside(choice), right)
        return Scene(example.id, tuple(record["words"]), (arc,))

    def statistics(self) -> Iterator[Statistic]:
        parts = {
            name: self.references.part(slice(place * len(GROUPS), (place + 1) * len(GROUPS)))
            for place, name in enumerate(REFERENCES)
        }
        hits, rule = self.hits.tally, strongest([parts[name] for name in RULES])
        nothing, spread = np.zeros_like(rule.sums), np.zeros((2, *hits.sums.shape[1:]))
        yield Statistic(
            "accuracy",
            hits,
            rule,
            Unit.SHARE,
            "how often the mention looks most at one that refers to the same",
            GROUPS,
            headlines=HEADLINES,
            null=Null(rule, spread),
        )
        yield Statistic(
            "gain",
            Tally.of(hits.sums - rule.sums, hits.counts),
            Tally.of(nothing, rule.counts),
            Unit.POINTS,
            "accuracy above the strongest rule that needs no head",
            GROUPS,
            null=Null(Tally.of(nothing, rule.counts), spread),
        )
        for name, text in REFERENCES.items():
            about = f"antecedents found without any head: {text}"
            yield Statistic(name, parts[name], None, Unit.SHARE, about, GROUPS)


def excerpt(pieces: Pieces, case: Case) -> dict[str, Any]:
    """The words around a mention and its nearest antecedent."""
    start = max(0, case.earlier[case.gold[-1]].head - MARGIN)
    end = min(len(pieces.words), case.mention.head + MARGIN)
    return {
        "words": list(pieces.words[start:end]),
        "start": start,
        "mention": case.mention.head,
        "gold": [case.earlier[n].head for n in case.gold],
    }
