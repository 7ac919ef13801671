"""Clark's procedure, written after the released code of Clark et al. 2019.

Batches padded to 128 tokens; all maps kept on disk; word-level maps head by head; then, for the
table of relations, one Python pass over the words for every head and direction. What the table
does not need is summed as the other scripts do. It gives what the scan gives, without intervals.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from bench.scripts import Maps, Sums, Words, add, annotation, basics, padded, word_counts
from headscope.corpus import Example
from headscope.model import Model

LENGTH, SIZE = 128, 16
Answers = Iterator[tuple[str, bool]]


def clark(model: Model, examples: Iterable[Example], folder: Path) -> Sums:
    """Everything, from sentences to accuracies by relation, head and direction."""
    kept = list(examples)
    stored = folder / "attention.pkl"
    with stored.open("wb") as stream:
        for example, words, maps in padded(model, kept, LENGTH, SIZE):
            pickle.dump((example, words, maps.copy()), stream, protocol=4)
    sums: Sums = {}
    known = word_counts(kept)
    data = []
    for example, words, maps in load(stored):
        between = word_maps(maps, words)
        add(sums, basics(maps, example, words, known) | annotation(maps, between, example, words))
        data.append((example, between))
    layers, heads = data[0][1].shape[:2]
    for direction, answer in DIRECTIONS.items():
        for layer in range(layers):
            for head in range(heads):
                right: Counter[str] = Counter()
                asked: Counter[str] = Counter()
                for example, between in data:
                    for relation, found in answer(between[layer][head], example):
                        asked[relation] += 1
                        right[relation] += found
                for relation in asked:
                    table = sums.setdefault(f"{direction} {relation}", np.zeros((layers, heads)))
                    table[layer, head] = right[relation]
                    count = "asked" if direction == "head-row" else "cases"
                    sums[f"{count} {relation}"] = asked[relation]
    return sums


def load(path: Path) -> Iterator[tuple[Example, Words, Maps]]:
    """The stored maps, one sentence at a time."""
    with path.open("rb") as stream:
        while stream.peek(1):
            yield pickle.load(stream)


def word_maps(maps: Maps, words: Words) -> Maps:
    """Maps of words without specials and without a word's weight to itself, head by head."""
    places: list[list[int]] = []
    for place, word in enumerate(words):
        if word is not None and place and words[place - 1] == word:
            places[-1].append(place)
        else:
            places.append([place])
    return np.stack([[word_map(head, places) for head in layer] for layer in maps])


def word_map(head: Maps, words: list[list[int]]) -> Maps:
    """One head: sum to, mean from."""
    made = np.array(head)
    rest = [place for word in words for place in word[1:]]
    for word in words:
        made[:, word[0]] = made[:, word].sum(axis=-1)
    made = np.delete(made, rest, -1)
    for word in words:
        made[word[0]] = np.mean(made[word], axis=0)
    made = np.delete(made, rest, 0)
    made[range(len(made)), range(len(made))] = 0
    return made[1:-1, 1:-1]


def row(head: Maps, example: Example) -> Answers:
    """Whether each word looks most at its head, one word at a time."""
    return dependents(np.argmax(head, axis=-1), example)


def column(head: Maps, example: Example) -> Answers:
    """Whether the word that looks most at each word is its head."""
    return dependents(np.argmax(head, axis=0), example)


def dependents(drawn: np.ndarray, example: Example) -> Answers:
    for word, gold, relation in zip(drawn, example.heads, example.relations, strict=True):
        if gold >= 0:
            yield relation, word == gold


def head_row(head: Maps, example: Example) -> Answers:
    """Whether each syntactic head looks most at one of its dependents, relation by relation."""
    drawn = np.argmax(head, axis=-1)
    asked = {
        (gold, relation)
        for gold, relation in zip(example.heads, example.relations, strict=True)
        if gold >= 0
    }
    for word, relation in asked:
        found = drawn[word]
        yield relation, example.heads[found] == word and example.relations[found] == relation


DIRECTIONS = {"row": row, "column": column, "head-row": head_row}
