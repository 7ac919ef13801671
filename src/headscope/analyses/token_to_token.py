"""Token to token: attention between two kinds of words (Kovaleva et al. 2019, section 4.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headscope._util.tensors import torch
from headscope.analyses.base import Analysis, analysis
from headscope.analyses.linguistic_features import features_of
from headscope.corpus import Annotation, Example, Pieces
from headscope.evidence import Mean, Statistic, Tally, Unit
from headscope.model import Batch
from headscope.model.attention import At, Band, Request, Seen, View
from headscope.model.words import Units

if TYPE_CHECKING:
    from torch import Tensor

GROUPS = (
    "noun to pronoun",
    "pronoun to noun",
    "verb to subject",
    "subject to verb",
    "verb to object",
    "object to verb",
)
HEADLINES = {name: f"{name}, beyond distance" for name in GROUPS}


def pairs(example: Example, positions: dict[str, list[int]]) -> list[tuple[int, int, int]]:
    """(group, query word, key word) of every pair.

    A verb is paired with its own subjects and objects, a noun with every pronoun of the text.

    Args:
        positions: of words, by feature.
    """
    verbs, has_tags = set(positions["verb"]), bool(example.upos or example.xpos)
    both = [(0, noun, pronoun) for noun in positions["noun"] for pronoun in positions["pronoun"]]
    for place, name in ((1, "subject"), (2, "object")):
        for word in positions[name]:
            verb = example.heads[word]
            if verb >= 0 and (verb in verbs or not has_tags):
                both.append((place, verb, word))
    directed = []
    for place, word, other in both:
        if word != other:
            directed += [(2 * place, word, other), (2 * place + 1, other, word)]
    return directed


def unit_pairs(pieces: Pieces, positions: dict[str, list[int]]) -> Iterator[tuple[int, int, int]]:
    """The pairs of a text, by unit; pairs of which a word has no pieces are left out."""
    if not pieces.example.heads:
        return
    place = pieces.place.tolist()
    for group, query, key in pairs(pieces.example, positions):
        if place[query] >= 0 and place[key] >= 0:
            yield group, place[query], place[key]


@dataclass(frozen=True)
class Pairs:
    """The pairs of a batch, by unit of the word-level map, and what they are compared with.

    Attributes:
        example, group, query, key: (pair,)
        slot: (pair,) number of its example, group and distance.
        key_of: (pair,) number of its example, group and key; place: (that number,) the number of
            the example and group.
        free: (pair,) how many other pairs of words have the same distance and are not linked.
    """

    example: Tensor
    group: Tensor
    query: Tensor
    key: Tensor
    slot: Tensor
    key_of: Tensor
    place: Tensor
    free: Tensor

    @classmethod
    def of(cls, table: Tensor, units: Units) -> Pairs:
        """From (pair, 4): example, group, query and key."""
        example, group, query, key = table.unbind(1)
        size, distance = units.text.shape[1], key - query
        width = 2 * size - 1
        place = example * len(GROUPS) + group
        slot = place * width + distance + size - 1
        unique, key_of = torch.unique(place * size + key, return_inverse=True)
        linked = torch.bincount(slot)[slot] if len(slot) else slot
        free = units.apart(example, distance) - linked
        return cls(example, group, query, key, slot, key_of, unique // size, free)

    def expected(self, weights: Tensor, along: Tensor) -> Tensor:
        """(pair, head) the mean weight at the same distance between words that are not linked.

        Args:
            weights: (pair, head) between the linked words.
            along: (example, head, distance) summed over all words of the text.
        """
        examples, heads, width = along.shape
        linked = weights.new_zeros(examples * len(GROUPS) * width, heads)
        linked.index_add_(0, self.slot, weights)
        total = along[self.example, :, self.slot % width]
        return (total - linked[self.slot]) / self.free[:, None].clamp_min(1)

    def by_group(self, values: Tensor, examples: int) -> Tensor:
        """(example, head, group) from (pair, head)."""
        total = values.new_zeros(examples * len(GROUPS), values.shape[1])
        total.index_add_(0, self.example * len(GROUPS) + self.group, values)
        return total.view(examples, len(GROUPS), -1).transpose(1, 2)

    def largest(self, values: Tensor, examples: int) -> Tensor:
        """(example, head, group) the mean over the queries of a key, the largest over keys."""
        heads = values.shape[1]
        sums = values.new_zeros(len(self.place), heads).index_add_(0, self.key_of, values)
        means = sums / torch.bincount(self.key_of, minlength=len(self.place))[:, None]
        best = values.new_zeros(examples * len(GROUPS), heads)
        best.scatter_reduce_(0, self.place[:, None].expand(-1, heads), means, "amax")
        return best.view(examples, len(GROUPS), heads).transpose(1, 2)


@analysis("token_to_token")
class TokenToToken(Analysis):
    """Mean weight from a verb to its subject or object, from a noun to a pronoun, and back. The
    baseline is the same head's mean weight at the same distance between words that are not so
    related: a diagonal head has as much there, one that follows the relation gains over it.

    Between words. Pairs at a distance that no other two words of the text have are left out of
    weight and baseline. Largest is Kovaleva's number: per text the mean over queries of the
    weight on a word, the largest over such words, averaged over texts; its baseline attends to
    all visible tokens alike.
    """

    annotation = Annotation.TREES

    def make_tallies(self) -> None:
        self.weight = Mean(self.layout, len(GROUPS), baseline=False)
        self.matched = Mean(self.layout, len(GROUPS), baseline=False)
        self.largest = Mean(self.layout, len(GROUPS))

    def ask(self, view: View) -> dict[str, Request]:
        pairs, *_ = view.once(self, lambda: self._pairs(view.tokens))
        if not len(pairs.query):
            return {}
        words, how = view.tokens.words, self.conventions.pieces
        return {
            "at": At(pairs.example, pairs.query, pairs.key, how),
            "along": Band(words.shape[1] - 1, over=words, words=how, keys=words),
        }

    def observe(self, seen: Seen) -> None:
        view, at = seen.view, seen["at"]  # (pair, head)
        pairs, counts, texts = view.once(self, lambda: self._pairs(view.tokens))
        examples, free = len(view.buckets), (pairs.free > 0)[:, None]
        expected = pairs.expected(at, seen["along"][:, :, 0])
        for mean, values in ((self.weight, at), (self.matched, expected)):
            mean.add(seen, pairs.by_group(values * free, examples), counts)
        largest, uniform = (
            pairs.largest(weights, examples) for weights in (at, seen.uniform("at"))
        )
        self.largest.add(seen, largest, texts, uniform)

    def _pairs(self, batch: Batch) -> tuple[Pairs, Tensor, Tensor]:
        """The pairs of a batch; how many count and whether there are any, (example, 1, group)."""
        table = [
            (row, group, query, key)
            for row, (pieces, positions) in enumerate(
                zip(batch.pieces, features_of(batch), strict=True)
            )
            for group, query, key in unit_pairs(pieces, positions)
        ]
        numbers = torch.tensor(table, dtype=torch.long, device=batch.ids.device).view(-1, 4)
        pairs, examples = Pairs.of(numbers, batch.units), len(batch.pieces)
        counts = pairs.by_group((pairs.free > 0)[:, None].float(), examples)
        texts = (pairs.by_group(torch.ones_like(pairs.free)[:, None], examples) > 0).float()
        return pairs, counts, texts

    def statistics(self) -> Iterator[Statistic]:
        weight = self.weight.tally
        yield Statistic(
            "weight",
            weight,
            self.matched.tally,
            Unit.SHARE,
            "mean weight from the one word to the other",
            GROUPS,
        )
        yield Statistic(
            "gain",
            Tally.of(weight.sums - self.matched.tally.sums, weight.counts),
            Tally.of(np.zeros_like(weight.counts), weight.counts),
            Unit.POINTS,
            "mean weight above that at the same distance without the relation",
            GROUPS,
            headlines=HEADLINES,
        )
        yield Statistic.of(
            "largest",
            self.largest,
            Unit.SHARE,
            "mean over texts of the largest weight on such a word",
            groups=GROUPS,
        )
