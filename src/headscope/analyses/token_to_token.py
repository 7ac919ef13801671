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
from headscope.evidence import Statistic, Tally, Unit
from headscope.model import Batch, LayerAttention, WordAttention

if TYPE_CHECKING:
    from torch import Tensor

GROUPS = (
    "noun to pronoun", "pronoun to noun", "verb to subject", "subject to verb",
    "verb to object", "object to verb",
)  # fmt: skip
HEADLINES = {name: f"{name}, beyond distance" for name in GROUPS}


def pairs(example: Example, found: dict[str, list[int]]) -> list[tuple[int, int, int]]:
    """(group, query word, key word) of every pair.

    A verb is paired with its own subjects and objects, a noun with every pronoun of the text.

    Args:
        found: positions of words by feature.
    """
    verbs, has_tags = set(found["verb"]), bool(example.upos or example.xpos)
    both = [(0, noun, pronoun) for noun in found["noun"] for pronoun in found["pronoun"]]
    for place, name in ((1, "subject"), (2, "object")):
        for word in found[name]:
            verb = example.heads[word]
            if verb >= 0 and (verb in verbs or not has_tags):
                both.append((place, verb, word))
    made = []
    for place, one, other in both:
        if one != other:
            made += [(2 * place, one, other), (2 * place + 1, other, one)]
    return made


def seen(pieces: Pieces, found: dict[str, list[int]]) -> Iterator[tuple[int, int, int]]:
    """The pairs of a text, by unit; pairs of which a word has no pieces are left out."""
    if not pieces.example.heads:
        return
    place = pieces.place.tolist()
    for group, query, key in pairs(pieces.example, found):
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
        self.weight, self.matched = Tally(self.shape, len(GROUPS)), Tally(self.shape, len(GROUPS))
        self.largest = Tally(self.shape, len(GROUPS))
        self.uniform = Tally(self.shape, len(GROUPS), heads=1)

    def observe(self, attention: LayerAttention, batch: Batch) -> None:
        known, counts, texts, uniform = attention.visible.once(
            self, lambda: self._known(attention, batch)
        )
        if not len(known.query):
            return
        words = attention.words(self.conventions.pieces)
        examples = len(batch.pieces)
        found = words.weights.transpose(1, 2)[known.example, known.query, :, known.key]
        free = (known.free > 0)[:, None]
        expected = self._expected(words, known, found)
        for tally, values in ((self.weight, found), (self.matched, expected)):
            tally.add(attention.layer, _by_group(values * free, known, examples), counts,
                      batch.buckets)  # fmt: skip
        self.largest.add(attention.layer, _largest(found, known, examples), texts, batch.buckets)
        self.uniform.add(attention.layer, uniform, texts, batch.buckets)

    def _expected(self, words: WordAttention, known: Pairs, found: Tensor) -> Tensor:
        """(pair, head) the mean weight at the same distance between words that are not linked."""
        examples, heads, width = words.diagonals.shape
        linked = found.new_zeros(examples * len(GROUPS) * width, heads)
        linked.index_add_(0, known.slot, found)
        total = words.diagonals[known.example, :, known.slot % width]
        return (total - linked[known.slot]) / known.free[:, None].clamp_min(1)

    def _known(
        self, attention: LayerAttention, batch: Batch
    ) -> tuple[Pairs, Tensor, Tensor, Tensor]:
        units = batch.units
        width = 2 * units.text.shape[1] + 1
        table = [
            (row, group, query, key)
            for row, (pieces, found) in enumerate(
                zip(batch.pieces, features_of(batch), strict=True)
            )
            for group, query, key in seen(pieces, found)
        ]
        columns = torch.tensor(table, dtype=torch.long, device=batch.ids.device).view(-1, 4)
        example, group, query, key = columns.unbind(1)
        slot = (example * len(GROUPS) + group) * width + (key - query) % width
        place = example * len(GROUPS) + group
        size = units.text.shape[1]
        unique, key_of = torch.unique(place * size + key, return_inverse=True)
        alike = units.apart(example, key - query)
        linked = torch.bincount(slot, minlength=len(batch.pieces) * len(GROUPS) * width)[slot]
        known = Pairs(
            example, group, query, key, slot, key_of,
            unique // size, alike - linked,
        )  # fmt: skip
        examples = len(batch.pieces)
        counts = _by_group((known.free > 0)[:, None].float(), known, examples)
        texts = (_by_group(torch.ones_like(slot)[:, None], known, examples) > 0).float()
        even = attention.uniform.words(self.conventions.pieces).weights[example, :, query, key]
        return known, counts, texts, _largest(even, known, examples)

    def statistics(self) -> Iterator[Statistic]:
        yield Statistic(
            "weight", self.weight, self.matched, Unit.SHARE,
            "mean weight from the one word to the other", GROUPS,
        )  # fmt: skip
        yield Statistic(
            "gain", Tally.of(self.weight.sums - self.matched.sums, self.weight.counts),
            Tally.of(np.zeros_like(self.weight.counts), self.weight.counts), Unit.POINTS,
            "mean weight above that at the same distance without the relation",
            GROUPS, headlines=HEADLINES,
        )  # fmt: skip
        yield Statistic(
            "largest", self.largest, self.uniform, Unit.SHARE,
            "mean over texts of the largest weight on such a word", GROUPS,
        )  # fmt: skip


def _by_group(values: Tensor, known: Pairs, examples: int) -> Tensor:
    """(example, head, group) from (pair, head)."""
    total = values.new_zeros(examples * len(GROUPS), values.shape[1])
    total.index_add_(0, known.example * len(GROUPS) + known.group, values)
    return total.view(examples, len(GROUPS), -1).transpose(1, 2)


def _largest(values: Tensor, known: Pairs, examples: int) -> Tensor:
    """(example, head, group) the mean over the queries of a key, the largest over keys."""
    heads = values.shape[1]
    sums = values.new_zeros(len(known.place), heads).index_add_(0, known.key_of, values)
    means = sums / torch.bincount(known.key_of, minlength=len(known.place))[:, None]
    best = values.new_zeros(examples * len(GROUPS), heads)
    best.scatter_reduce_(0, known.place[:, None].expand(-1, heads), means, "amax")
    return best.view(examples, len(GROUPS), heads).transpose(1, 2)
