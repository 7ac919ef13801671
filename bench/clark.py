"""Clark's procedure, written after the released code of Clark et al. 2019.

Batches padded to 128 tokens; all maps kept on disk; word-level maps head by head; then, for the
table of relations, one Python pass over the words for every head and direction. The numbers that
need no trees are summed as the other scripts do. It gives what the scan gives, without intervals.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bench.scripts import Sums, add, word_counts
from headscope.corpus import Example
from headscope.model import Model

Floats = NDArray[np.float32]
LENGTH, SIZE = 128, 16


def clark(model: Model, examples: Iterable[Example], folder: Path) -> Sums:
    """Everything, from sentences to accuracies by relation, head and direction."""
    kept = list(examples)
    stored = folder / "attention.pkl"
    extract(model, kept, stored)
    sums: Sums = {}
    known = word_counts(kept)
    data = []
    with stored.open("rb") as stream:
        for _ in kept:
            number, words, maps = pickle.load(stream)
            if maps is None:
                continue
            add(sums, maps, kept[number], words, known)
            data.append((kept[number], word_maps(maps, words)))
    layers, heads = data[0][1].shape[:2]
    for direction in ("row", "column"):
        for layer in range(layers):
            for head in range(heads):
                sums[f"clark {direction} {layer} {head}"] = evaluate(data, layer, head, direction)
    return sums


def extract(model: Model, examples: list[Example], path: Path) -> None:
    """Run the model on padded batches and keep the maps of every sentence that fits."""
    with path.open("wb") as stream:
        for start in range(0, len(examples), SIZE):
            chunk = examples[start : start + SIZE]
            encoded = model.tokenizer(
                [list(example.words) for example in chunk],
                is_split_into_words=True,
                return_tensors="pt",
                padding="max_length",
                truncation=True,
                max_length=LENGTH,
            )
            with torch.no_grad():
                output = model.network(**encoded, output_attentions=True)
            attentions = torch.stack(output.attentions).numpy()
            for place, example in enumerate(chunk):
                real = int(encoded["attention_mask"][place].sum())
                words = encoded.word_ids(place)[:real]
                whole = {word for word in words if word is not None} == set(
                    range(len(example.words))
                )
                maps = attentions[:, place, :, :real, :real].copy() if whole else None
                pickle.dump((start + place, words, maps), stream, protocol=4)


def word_maps(maps: Floats, words: list[int | None]) -> Floats:
    """Maps of words, head by head."""
    places: list[list[int]] = []
    for place, word in enumerate(words):
        if word is not None and place and words[place - 1] == word:
            places[-1].append(place)
        else:
            places.append([place])
    return np.stack([[word_map(head, places) for head in layer] for layer in maps])


def word_map(head: Floats, words: list[list[int]]) -> Floats:
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
    data: list[tuple[Example, Floats]], layer: int, head: int, direction: str
) -> NDArray[np.float64]:
    """Correct and asked, over all words that have a head; one word at a time."""
    correct: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for example, maps in data:
        for predicted, gold, relation in zip(
            predict(maps[layer][head], direction), example.heads, example.relations, strict=True
        ):
            if gold >= 0:
                asked[relation] += 1
                if predicted == gold:
                    correct[relation] += 1
    return np.array([[correct[name], asked[name]] for name in sorted(asked)], dtype=float)


def predict(head: Floats, direction: str) -> Any:
    """The most attended other word of each, specials left out."""
    made = np.array(head)
    if direction == "column":
        made = made.T
    made[range(len(made)), range(len(made))] = 0
    return np.argmax(made[1:-1, 1:-1], axis=-1)
