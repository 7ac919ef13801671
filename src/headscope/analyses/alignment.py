"""Word alignment: does a cross-attention head look at the word that it translates?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope._util.tensors import torch
from headscope.analyses._alignment.word_pairs import RULES, WordPairs
from headscope.analyses.base import Analysis, Arc, Needs, Scene, analysis
from headscope.corpus import Annotation, Pieces, stable_hash
from headscope.corpus.display import MAX_WORDS
from headscope.evidence import (
    Candidates,
    RankedExample,
    RoleKind,
    RoleRule,
    ShownText,
    Statistic,
    Tally,
    Unit,
)
from headscope.evidence.ranked_examples import Number
from headscope.evidence.role_rule import ANY, OURS
from headscope.model.attention import Kind, Norms, Request, Rows, Seen, View

if TYPE_CHECKING:
    from torch import Tensor

DIRECTIONS = ("input", "output")
"""Which query stands for a word: that which reads it, or that which says it."""
BY = ("attention", "norm")


@analysis("alignment")
class Alignment(Analysis):
    """How often a cross-attention head's largest weight falls on the source word that a target
    word translates, and the alignment error rate (AER) of the links that it draws so. The baseline
    is the best way to align by places alone: the diagonal, or one fixed offset.

    Over words: a target word looks like the mean of its pieces, a source word gets what its pieces
    get, and specials are left out. Input: by the query that reads the word; output: by the query
    that says it, one place before (Kobayashi et al. 2020). By attention, or by attention times the
    norm of the transformed value vector of what is looked at (norm). AER counts one link for every
    target word: 1 - (|A and S| + |A and P|) / (|A| + |S|) with sure links S and possible ones P
    (Och and Ney 2003); less is better. Agreement needs no annotation: how often a head chooses as
    the attention of all cross heads together does, which is no alignment but what they have in
    common.
    """

    kinds = frozenset({Kind.CROSS})
    needs = (Needs.VALUES,)
    optional_annotation: ClassVar[Mapping[Annotation, str]] = {Annotation.ALIGNMENT: "gold links"}
    page = "headscope.analyses._alignment.section"
    roles = (
        RoleRule(
            "aligning",
            "looks at the word that it translates ({direction}): {value}",
            "accuracy",
            0.5,
            OURS,
            rank=10,
            groups=BY[:1],
            direction=ANY,
            margin=0.1,
            kind=RoleKind.ALIGNMENT,
            titles={"": "looks at the word that is translated"},
            mark="align",
            directions={"input": "as it reads", "output": "as it says"},
        ),
    )

    def make_tallies(self) -> None:
        ways = len(DIRECTIONS) * len(BY)
        self.hits, self.errors = Tally(self.layout, ways), Tally(self.layout, ways)
        self.agreed = Tally(self.layout, len(DIRECTIONS))
        self.rule_hits = Tally(self.layout, len(RULES), heads=1, layers=1)
        self.rule_errors = Tally(self.layout, len(RULES), heads=1, layers=1)
        self._shown: dict[int, Pieces] = {}
        self._drawn: dict[int, list[NDArray[np.int16]]] = {}

    def begin_examples(self, shard: list[Pieces]) -> None:
        """Pairs with gold links that can be shown."""
        self._shown = {
            id(pieces): pieces
            for pieces in shard
            if pieces.example.alignment and len(pieces.words) <= MAX_WORDS
        }
        self._drawn = {key: [] for key in self._shown}

    def ask(self, view: View) -> dict[str, Request]:
        return {"maps": Rows.whole(view), "norms": Norms()}

    def observe(self, seen: Seen) -> None:
        view = seen.view
        pairs = view.once(self, lambda: WordPairs.of(view, self.conventions.pieces))
        number = self.layout.number(seen.site)
        maps, norms = seen["maps"], seen["norms"]
        if number == 0:
            self._add_rules(pairs, view)
        words = [
            pairs.word_maps(each, said=direction == "output")
            for direction in DIRECTIONS
            for each in (maps, maps * norms[:, :, None, :])
        ]
        choices = [pairs.choices(each) for each in words]
        hits, errors, asked, links = scored(pairs, choices)
        self.hits.add(number, hits, asked, view.buckets)
        self.errors.add(number, errors, links, view.buckets)
        by_attention = slice(0, None, len(BY))
        kept = view.scope.setdefault(self, [])
        kept.append(
            (
                torch.stack([each.sum(1) for each in words[by_attention]], 1),
                torch.stack(choices[by_attention], 1),
            )
        )
        if number == self.layout.layers - 1:
            self._agree(pairs, kept, view)
        self._keep(torch.stack(choices, 2), view)

    def _add_rules(self, pairs: WordPairs, view: View) -> None:
        """Add what places alone would choose."""
        choices = [pairs.chosen[:, rule, None] for rule in range(len(RULES))]
        hits, errors, asked, links = scored(pairs, choices)
        self.rule_hits.add(0, hits, asked, view.buckets)
        self.rule_errors.add(0, errors, links, view.buckets)

    def _agree(self, pairs: WordPairs, kept: list[tuple[Tensor, Tensor]], view: View) -> None:
        """After the last layer, add how often heads choose as all of them together do.

        Args:
            kept: of each layer the attention between words, summed over heads, (example, direction,
                target word, source word), and choices, (example, direction, head, target word).
        """
        together = pairs.choices(torch.stack([words for words, _ in kept]).sum(0))
        asked = pairs.asked[:, None, None]
        counts = pairs.asked.sum(1)[:, None, None]
        for layer, (_, choices) in enumerate(kept):
            same = ((choices == together[:, :, None]) & asked).sum(-1).mT
            self.agreed.add(layer, same, counts, view.buckets)

    def _keep(self, drawn: Tensor, view: View) -> None:
        """Keep what every head of the layer chooses on texts that can be shown.

        Args:
            drawn: (example, head, direction and weight, target word)
        """
        for example, pieces in enumerate(view.keys.pieces):
            if id(pieces) in self._shown:
                size = len(view.queries.pieces[example].words)
                self._drawn[id(pieces)].append(
                    drawn[example, ..., :size].cpu().numpy().astype(np.int16)
                )

    def candidates(self) -> Iterator[Candidates]:
        """Pairs by the share of linked words for which a head chooses a word linked to them."""
        texts: list[list[ShownText]] = [[] for _ in DIRECTIONS]
        scores: list[list[NDArray[np.float32]]] = [[] for _ in DIRECTIONS]
        for key, pieces in self._shown.items():
            translation = pieces.example.translation
            if not self._drawn[key] or translation is None:
                continue
            links = [list(link) for link in pieces.example.alignment]
            words, queries = list(pieces.words), list(translation.words)
            record = {"words": words, "queries": queries, "links": links}
            gold = sources_of(links)
            linked = np.zeros((len(queries), len(words) + 1), bool)  # the last: no word
            for word, answers in gold.items():
                linked[word, answers] = True
            asked = sorted(gold)
            drawn = np.concatenate(self._drawn[key])  # (head, direction and weight, target word)
            rank = stable_hash(pieces.example.id)
            for place in range(len(DIRECTIONS)):
                choice = drawn[:, len(BY) * place]
                right = linked[asked, choice[:, asked]]
                scores[place].append(right.mean(1).astype(np.float32))
                texts[place].append(ShownText(pieces.example.id, rank, record, choice))
        for direction, shown, some in zip(DIRECTIONS, texts, scores, strict=True):
            if shown:
                yield Candidates("accuracy", np.stack(some), shown, BY[0], direction)

    def render_example(self, example: RankedExample, number: Number) -> Scene:
        """The gold links of a pair, and the link that the head draws from every linked word."""
        choice = example.drawn
        arcs = tuple(
            Arc(word, tuple(answers), int(choice[word]), int(choice[word]) in answers)
            for word, answers in sorted(sources_of(example.record["links"]).items())
        )
        words, queries = (tuple(example.record[name]) for name in ("words", "queries"))
        return Scene(example.id, words, arcs, queries)

    def statistics(self) -> Iterator[Statistic]:
        if self.rule_hits.counts.any():
            yield from self._gold_statistics()
        for place, direction in enumerate(DIRECTIONS):
            yield Statistic(
                "agreement",
                self.agreed.part(slice(place, place + 1)),
                None,
                Unit.SHARE,
                "how often a head chooses as the attention of all cross heads together does",
                (),
                direction,
                {"": f"agreement with all heads ({direction})"},
            )

    def _gold_statistics(self) -> Iterator[Statistic]:
        """What needs gold links, with the best alignment by places alone as the baseline."""
        for name, tally, rules, better, about in (
            ("accuracy", self.hits, self.rule_hits, 1, "how often it is the word translated"),
            ("aer", self.errors, self.rule_errors, -1, "alignment error rate; less is better"),
        ):
            best = int(np.argmax(better * rules.ratio()))
            for place, direction in enumerate(DIRECTIONS):
                headlines = {
                    BY[0]: f"alignment, {direction}",
                    BY[1]: f"alignment by norm, {direction}",
                }
                yield Statistic(
                    name,
                    tally.part(slice(place * len(BY), (place + 1) * len(BY))),
                    rules.part(slice(best, best + 1)),
                    Unit.SHARE,
                    f"{about}, by the largest weight",
                    BY,
                    direction,
                    headlines if name == "accuracy" else {},
                    better=better,
                )
            alone = "the same by places alone: the diagonal, or one fixed offset"
            yield Statistic(f"rule_{name}", rules, None, Unit.SHARE, alone, RULES, better=better)


def sources_of(links: Iterable[Sequence[Any]]) -> dict[int, list[int]]:
    """By target word the source words that it is linked to; a link is source, target, sure."""
    gold: dict[int, list[int]] = defaultdict(list)
    for source, target, _ in links:
        gold[target].append(source)
    return gold


def scored(pairs: WordPairs, choices: list[Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """How some choices of source words do.

    Args:
        choices: each (example, head, target word); -1 for none.

    Returns:
        (example, head, choice) hits, and errors as AER counts them; (example, 1, choice) what they
        are divided by: linked target words, and |A| + |S|.
    """
    linked = pairs.possible.any(-1) & pairs.asked
    gold = pairs.annotated[:, None]
    asked = (linked.sum(-1, keepdim=True) * gold)[..., None]
    sure = pairs.sure.sum((1, 2))[:, None]
    hits, errors, counts = [], [], []
    for each in choices:
        possible = pairs.hits(pairs.possible, each)
        drawn = ((each >= 0) & pairs.asked[:, None]).sum(-1)
        hits.append(possible * gold)
        links = (drawn + sure) * gold
        errors.append(links - (possible + pairs.hits(pairs.sure, each)) * gold)
        counts.append(links[:, :1])
    stacked = (torch.stack(each, -1).float() for each in (hits, errors, counts))
    found, wrong, links = stacked
    return found, wrong, asked.float().expand(-1, -1, len(choices)), links
