"""The analyses of annotation once more, slow and obvious: one text, one head, one word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example
from tests.parity.reference import Item, Text

Map = NDArray[np.float64]
Linked = dict[str, list[tuple[int, int]]]
Spot = tuple[int, list[tuple[int, int]]]  # a target word, and spans of words


@dataclass
class Annotated:
    """A text with its annotation."""

    text: Text
    example: Example

    def pieces(self, word: int) -> list[int]:
        return [place for place, owner in enumerate(self.text.word) if owner == word]

    @property
    def seen(self) -> list[int]:
        """The words that have pieces."""
        return [word for word in range(len(self.example.words)) if self.pieces(word)]

    def between(self, a: Map, one: int, other: int, how: str = "mean") -> float:
        """Attention from a word to another: sum over the one's pieces, mean over the other's."""
        queries = self.pieces(one)[:1] if how == "first" else self.pieces(one)
        return float(np.mean([sum(a[i, j] for j in self.pieces(other)) for i in queries]))


def chosen(found: Annotated, a: Map, word: int, column: bool, how: str) -> int | None:
    """The other word to which (or from which) the weight is largest."""
    best, weight = None, 0.0
    for other in found.seen:
        if other != word:
            pair = (other, word) if column else (word, other)
            value = found.between(a, *pair, how)
            if value > weight:
                best, weight = other, value
    return best


def asked(found: Annotated, linked: Linked) -> dict[bool, dict[tuple[int, str], set[int]]]:
    """Around sources (False) and around targets (True): which words answer."""
    around: dict[bool, dict[tuple[int, str], set[int]]] = {False: {}, True: {}}
    for label, links in linked.items():
        for source, target in links:
            if source in found.seen and target in found.seen:
                around[False].setdefault((source, label), set()).add(target)
                around[True].setdefault((target, label), set()).add(source)
    return around


class Rates:
    """How often the word so many places from a source is its target, where there is a word."""

    def __init__(self, corpus: list[tuple[Annotated, Linked]]) -> None:
        self.cases = [
            (label, found.seen.index(word), {found.seen.index(one) for one in answers}, found)
            for found, linked in corpus
            for (word, label), answers in asked(found, linked)[False].items()
        ]
        self.known: dict[tuple[str, int], tuple[int, int]] = {}

    def without(self, label: str, offset: int, own: bool) -> float:
        """The rate over all links but one."""
        if (label, offset) not in self.known:
            room = [
                place + offset in answers
                for name, place, answers, found in self.cases
                if name == label and 0 <= place + offset < len(found.seen)
            ]
            self.known[label, offset] = (sum(room), len(room))
        right, room_size = self.known[label, offset]
        return (right - own) / max(room_size - 1, 1) if offset else 0.0


def best_offset(corpus: list[tuple[Annotated, Linked]], labels: set[str], back: bool) -> float:
    """How often the best of the offsets -5 to 5 is right; outside the text it is wrong."""
    cases = [
        (found.seen.index(word), {found.seen.index(one) for one in answers})
        for found, linked in corpus
        for (word, label), answers in asked(found, linked)[back].items()
        if label in labels
    ]
    hits = [sum(place + o in answers for place, answers in cases) for o in range(-5, 6) if o]
    return max(hits) / len(cases)


def chance(
    found: Annotated, linked: Linked, rates: Rates, case: tuple[int, str], best: int | None
) -> tuple[float, float]:
    """How likely a choice is right by offsets alone: for a source's target, for a target's source.

    The second: of the sources of that label, as many as really have this target.
    """
    word, label = case
    place = found.seen.index
    if best is None:
        return 0.0, 0.0
    sources = asked(found, linked)[False]
    answers = sources.get(case, set())
    forward = rates.without(label, place(best) - place(word), best in answers)
    total, backward, count = 0.0, 0.0, 0
    for (source, name), targets in sources.items():
        if name == label:
            rate = rates.without(label, place(word) - place(source), word in targets)
            total += rate
            count += word in targets
            backward = rate if source == best else backward
    return forward, min(1.0, count * backward / total) if total else 0.0


def linking(
    name: str, corpus: list[tuple[Annotated, Linked]], pieces: str
) -> Iterator[tuple[Item, float]]:
    """Hits, and beside each what the choice would score by its offset alone."""
    rates = Rates(corpus)
    for found, linked in corpus:
        around = asked(found, linked)
        for layer, head, a in found.text.heads():
            if head < 0:
                continue
            for direction in ("row", "column", "head-row"):
                back = direction == "head-row"
                for case, answers in around[back].items():
                    best = chosen(found, a, case[0], direction == "column", pieces)
                    hit = best in answers
                    rate = chance(found, linked, rates, case, best)[back]
                    what = (name, "accuracy", case[1], direction)
                    yield (what, layer, head, float(hit), 1), rate


def linguistic_features(found: Annotated, features: dict[str, list[int]]) -> Iterator[Item]:
    text = found.text
    groups = {name: [p for w in words for p in found.pieces(w)] for name, words in features.items()}
    groups["first"] = [0]
    groups["separator"] = [place for place in range(text.length) if text.separator[place]]
    for layer, head, a in text.heads():
        for name, places in groups.items():
            if places:
                means = [np.mean([a[i, j] for i in range(text.length)]) for j in places]
                key = "linguistic_features"
                yield (key, "largest", name, "from all"), layer, head, float(max(means)), 1
                first = max(a[0, j] for j in places)
                yield (key, "largest", name, "from first"), layer, head, float(first), 1


def token_to_token(found: Annotated, features: dict[str, list[int]]) -> Iterator[Item]:
    heads, verbs = found.example.heads, features["verb"]
    pairs = {
        "noun to pronoun": [(n, p) for n in features["noun"] for p in features["pronoun"]],
        "verb to subject": [(heads[s], s) for s in features["subject"] if heads[s] in verbs],
        "verb to object": [(heads[o], o) for o in features["object"] if heads[o] in verbs],
    }
    for name, there in pairs.items():
        one, other = name.split(" to ")
        seen = [(q, k) for q, k in there if q in found.seen and k in found.seen]
        if seen:
            yield from _pairs(found, name, seen)
            yield from _pairs(found, f"{other} to {one}", [(k, q) for q, k in seen])


def _pairs(found: Annotated, group: str, linked: list[tuple[int, int]]) -> Iterator[Item]:
    place = {word: number for number, word in enumerate(found.seen)}
    for layer, head, a in found.text.heads():
        by_key: dict[int, list[float]] = defaultdict(list)
        for query, key in linked:
            value = found.between(a, query, key)
            by_key[key].append(value)
            alike = [
                found.between(a, x, y)
                for x in found.seen
                for y in found.seen
                if place[y] - place[x] == place[key] - place[query] and (x, y) not in linked
            ]
            if alike and head >= 0:
                what = ("token_to_token", "weight", group, None)
                yield what, layer, head, value, 1
                yield (
                    ("token_to_token", "matched", group, None),
                    layer,
                    head,
                    float(np.mean(alike)),
                    1,
                )
        largest = max(float(np.mean(values)) for values in by_key.values())
        yield ("token_to_token", "largest", group, None), layer, head, largest, 1


def frames(
    found: Annotated, places: list[list[tuple[int, list[tuple[int, int]]]]]
) -> Iterator[Item]:
    """`places`: for every frame its own target and spans, then all others that fit."""
    for layer, head, a in found.text.heads():
        if head < 0:
            continue
        for own, *others in places:
            yield ("frames", "largest", None, None), layer, head, _most(found, a, own), 1
            if others:
                mean = float(np.mean([_most(found, a, one) for one in others]))
                yield ("frames", "elsewhere", None, None), layer, head, mean, 1


def _most(found: Annotated, a: Map, spot: Spot) -> float:
    target, spans = spot
    return max(
        float(a[i, j])
        for start, end in spans
        for word in range(start, end)
        for i in found.pieces(word)
        for j in found.pieces(target)
    )


Mention = tuple[int, str, str]  # head word, chain, type


RULES = ("nearest", "head_match", "sieve")


def coreference(found: Annotated, mentions: list[Mention]) -> Iterator[Item]:
    """Hits of heads, and beside them those of every rule that needs no head (head -1)."""
    ordered = sorted(one for one in mentions if one[0] in found.seen)
    for number, (word, chain, kind) in enumerate(ordered):
        earlier = ordered[:number]
        if not any(other[1] == chain for other in earlier):
            continue
        for layer, head, a in found.text.heads():
            if head < 0:
                for rule in RULES:
                    hit = float(by_rule(rule, found, word, earlier)[1] == chain)
                    for group in ("all", kind):
                        yield ("coreference", rule, group, None), layer, head, hit, 1
                continue
            weights = [found.between(a, word, other[0]) for other in earlier]
            best = max(range(len(earlier)), key=weights.__getitem__)
            hit = float(earlier[best][1] == chain and weights[best] > 0)
            for group in ("all", kind):
                yield ("coreference", "accuracy", group, None), layer, head, hit, 1


def by_rule(rule: str, found: Annotated, word: int, earlier: list[Mention]) -> Mention:
    """The antecedent by a rule, of mentions of one word that have no number and no gender."""
    words = found.example.words
    same = [one for one in earlier if words[one[0]] == words[word]]
    if rule != "nearest" and same:  # the whole mention is its head word
        return same[-1]
    own = person(found, word)
    persons = [(one, person(found, one[0])) for one in earlier]
    agreeing = [one for one, other in persons if own == other or "?" in (own, other)]
    return agreeing[-1] if rule == "sieve" and agreeing else earlier[-1]


def person(found: Annotated, word: int) -> str:
    """The grammatical person of a word; ? for a pronoun that no list has."""
    listed = {"i": "1", "he": "3"}  # of the words that random letters make
    other = "?" if found.example.upos[word] == "PRON" else "3"
    return listed.get(found.example.words[word], other)
