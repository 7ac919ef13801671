"""Clark's procedure, written after the released code of Clark et al. 2019.

Batches padded to 128 tokens; all maps kept on disk, in half precision as theirs; word-level maps
head by head; then, for the table of relations, one Python pass over the words for every head and
direction. What the table does not need is summed as the other scripts do, in single precision.
It gives what the scan gives, to the precision of the maps, without intervals.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.scripts import Sums, Words, add, annotation, basics, padded, word_counts
from headscope.corpus import Example
from headscope.model import Model

LENGTH, SIZE = 128, 16
Halves = NDArray[np.float16]
Questions = Iterator[tuple[int, Sequence[int], str]]
"""A word, the words that would be right, the relation."""


def clark(model: Model, examples: Iterable[Example], folder: Path) -> Sums:
    """Everything, from sentences to accuracies by relation, head and direction."""
    kept = list(examples)
    stored = folder / "attention.pkl"
    with stored.open("wb") as stream:
        for example, words, maps in padded(model, kept, LENGTH, SIZE):
            pickle.dump((example, words, maps.astype(np.float16)), stream, protocol=4)
    sums: Sums = {}
    known = word_counts(kept)
    data = []
    for example, words, halves in load(stored):
        between = word_maps(halves, words)
        data.append((example, between))
        maps, inner = (some.astype(np.float32) for some in (halves, between[..., 1:-1, 1:-1]))
        add(sums, basics(maps, example, words, known) | annotation(maps, inner, example, words))
    layers, heads = data[0][1].shape[:2]
    for direction in ("row", "column", "head-row"):
        for layer in range(layers):
            for head in range(heads):
                for name, found in evaluate(data, layer, head, direction).items():
                    table = sums.setdefault(f"{direction} {name}", np.zeros((layers, heads)))
                    table[layer, head] = found[0]
                    count = "asked" if direction == "head-row" else "cases"
                    sums[f"{count} {name}"] = sum(found)
    return sums


def load(path: Path) -> Iterator[tuple[Example, Words, Halves]]:
    """The stored maps, one sentence at a time."""
    with path.open("rb") as stream:
        while stream.peek(1):
            yield pickle.load(stream)


def word_maps(maps: Halves, words: Words) -> Halves:
    """Maps of words, head by head; the specials are kept as words of their own."""
    places: list[list[int]] = []
    for place, word in enumerate(words):
        if word is not None and place and words[place - 1] == word:
            places[-1].append(place)
        else:
            places.append([place])
    return np.stack([[word_map(head, places) for head in layer] for layer in maps])


def word_map(head: Halves, words: list[list[int]]) -> Halves:
    """One head: sum to, mean from."""
    made = np.array(head)
    rest = [place for word in words for place in word[1:]]
    for word in words:
        made[:, word[0]] = made[:, word].sum(axis=-1)
    made = np.delete(made, rest, -1)
    for word in words:
        made[word[0]] = np.mean(made[word], axis=0)
    return np.delete(made, rest, 0)


def evaluate(
    data: list[tuple[Example, Halves]], layer: int, head: int, direction: str
) -> dict[str, tuple[int, int]]:
    """How often one head is right and wrong, by relation and in all; one word at a time."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for example, maps in data:
        drawn = predict(maps[layer][head], direction)
        asked = targets(example) if direction == "head-row" else sources(example)
        for word, gold, relation in asked:
            if drawn[word] in gold:
                right[relation] += 1
                right["all"] += 1
            else:
                wrong[relation] += 1
                wrong["all"] += 1
    return {name: (right[name], wrong[name]) for name in right | wrong}


def predict(head: Halves, direction: str) -> NDArray[np.int64]:
    """The most attended other word of each, specials left out."""
    made = np.array(head)
    if direction == "column":
        made = made.T
    made[range(len(made)), range(len(made))] = 0
    drawn: NDArray[np.int64] = np.argmax(made[1:-1, 1:-1], axis=-1)
    return drawn


def sources(example: Example) -> Questions:
    """Every word that has a head, and that head."""
    for word, (gold, relation) in enumerate(zip(example.heads, example.relations, strict=True)):
        if gold >= 0:
            yield word, (gold,), relation


def targets(example: Example) -> Questions:
    """Every syntactic head, and its dependents of one relation."""
    found: dict[tuple[int, str], list[int]] = {}
    for word, (gold, relation) in enumerate(zip(example.heads, example.relations, strict=True)):
        if gold >= 0:
            found.setdefault((gold, relation), []).append(word)
    for (target, relation), dependents in found.items():
        yield target, dependents, relation
