"""The two scripts that people write today, written fairly: eager attention, numpy over heads.

They compute the same numbers as a scan with all analyses (sums without intervals), vectorised
over layers and heads, with the work that is common to statistics done once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Example
from headscope.corpus.features import word_features
from headscope.model import Model

WIDTH = 8
Sums = dict[str, Any]
Maps = NDArray[np.float32]
Words = list[int | None]


def sentence_by_sentence(model: Model, examples: Iterable[Example]) -> Sums:
    """One sentence at a time, no padding."""
    examples = list(examples)
    known = word_counts(examples)
    sums: Sums = {}
    for example in examples:
        encoded = model.tokenizer(
            list(example.words), is_split_into_words=True, return_tensors="pt"
        )
        with torch.no_grad():
            output = model.network(**encoded, output_attentions=True)
        maps = torch.stack(output.attentions)[:, 0].numpy()
        add(sums, everything(maps, example, encoded.word_ids(0), known))
    return sums


def padded_batches(model: Model, examples: Iterable[Example], length: int, size: int) -> Sums:
    """Batches of `size` sentences in corpus order, all padded to `length` (Clark's procedure)."""
    examples = list(examples)
    known = word_counts(examples)
    sums: Sums = {}
    for example, words, maps in padded(model, examples, length, size):
        add(sums, everything(maps, example, words, known))
    return sums


def padded(
    model: Model, examples: list[Example], length: int, size: int
) -> Iterator[tuple[Example, Words, Maps]]:
    """Maps from padded batches, padding taken off; sentences that do not fit are left out."""
    for start in range(0, len(examples), size):
        chunk = examples[start : start + size]
        encoded = model.tokenizer(
            [list(example.words) for example in chunk],
            is_split_into_words=True,
            return_tensors="pt",
            padding="max_length",
            truncation=True,
            max_length=length,
        )
        with torch.no_grad():
            output = model.network(**encoded, output_attentions=True)
        attentions = torch.stack(output.attentions).numpy()
        for place, example in enumerate(chunk):
            real = int(encoded["attention_mask"][place].sum())
            words = encoded.word_ids(place)[:real]
            if len({word for word in words if word is not None}) < len(example.words):
                continue  # longer than that: left out, as Clark et al. did
            yield example, words, attentions[:, place, :, :real, :real]


def word_counts(examples: list[Example]) -> tuple[set[str], Counter[str]]:
    counts = Counter(word.lower() for example in examples for word in example.words)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return set(ranked[:500]), counts


def add(sums: Sums, found: Sums) -> None:
    """Add the statistics of one sentence."""
    for name, value in found.items():
        sums[name] = sums.get(name, 0) + value.astype(np.float64)


def everything(
    maps: Maps, example: Example, words: Words, known: tuple[set[str], Counter[str]]
) -> Sums:
    """All statistics of one sentence; maps: (layer, head, query, key)."""
    between = word_level(maps, words)
    return (
        basics(maps, example, words, known)
        | relations(between, example)
        | annotation(maps, between, example, words)
    )


def basics(
    maps: Maps, example: Example, words: Words, known: tuple[set[str], Counter[str]]
) -> Sums:
    """What needs no annotation."""
    frequent, counts = known
    length = maps.shape[-1]
    text = np.array([word is not None for word in words])
    ids = [example.words[word].lower() if word is not None else "" for word in words]
    punctuation = np.array([bool(word) and not any(c.isalnum() for c in word) for word in ids])
    stop = np.isin(ids, [".", ","])
    first = np.arange(length) == 0
    separator = ~text & ~first
    roles = np.stack([first, separator, stop, punctuation, text & ~punctuation], 1)
    queries = np.stack([np.ones(length, bool), separator, ~separator])
    found = {
        "mass": queries.astype(np.float32) @ maps @ roles.astype(np.float32),
        "queries": queries.sum(1),
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(maps > 0, maps * np.log(maps), 0).sum(-1)
    found["entropy"], found["first"] = entropy.sum(-1), entropy[..., 0]
    found["relative"], found["rows"] = entropy.sum(-1) / np.log(length), np.array(length)
    found["largest"] = maps[..., text, :][..., ~separator].max(-1).sum(-1)
    inner = maps[..., text, :][..., text]
    peak = inner.argmax(-1)
    offset = peak - np.arange(inner.shape[-1])
    positions = np.nonzero(text)[0]
    for step in range(-WIDTH, WIDTH + 1):
        if abs(step) >= length:
            continue
        diagonal = np.diagonal(maps, step, -2, -1)
        there = np.arange(length)[max(0, -step) : length - max(0, step)]
        found[f"offset {step}"] = diagonal[..., text[there]].sum(-1)
        found[f"count {step}"] = text[there].sum()
        found[f"argmax {step}"] = (offset == step).sum(-1)
    seen = {ids[place] for place in positions}
    rarest = sorted(seen, key=lambda word: (counts[word], word))[:2]
    if rarest and rarest[0] not in frequent:
        low = [word for word in seen if counts[word] <= counts[rarest[0]]]
        next_low = [word for word in seen if counts[word] <= counts[rarest[-1]]]
        names = np.array(ids)[positions]
        found["rarest"] = np.isin(names, low)[peak].sum(-1)
        found["two rarest"] = np.isin(names, next_low)[peak].sum(-1)
        found["rare queries"] = np.array(len(positions))
    return found


def word_level(maps: Maps, words: Words) -> Maps:
    """Maps of words without specials: sum to, mean from, 0 to itself."""
    text = np.array([word is not None for word in words])
    owners = [word for word in words if word is not None]
    inner = maps[..., text, :][..., text]
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    sizes = np.diff([*starts, len(owners)])
    to = np.add.reduceat(inner, starts, -1)
    mean = (np.add.reduceat(to, starts, -2) / sizes[:, None]).astype(np.float32)
    mean[..., range(len(starts)), range(len(starts))] = 0
    return mean


def relations(between: Maps, example: Example) -> Sums:
    """Dependencies, vectorised over heads."""
    found: Sums = {}
    heads, labels = np.array(example.heads), np.array(example.relations)
    row, column = between.argmax(-1), between.argmax(-2)
    inside = np.arange(len(heads))[heads >= 0]
    for label in set(labels[inside]):
        mine = inside[labels[inside] == label]
        found[f"row {label}"] = (row[..., mine] == heads[mine]).sum(-1)
        found[f"column {label}"] = (column[..., mine] == heads[mine]).sum(-1)
        asked = np.unique(heads[mine])
        back = (heads[row[..., asked]] == asked) & (labels[row[..., asked]] == label)
        found[f"head-row {label}"] = back.sum(-1)
        found[f"cases {label}"], found[f"asked {label}"] = np.array(len(mine)), np.array(len(asked))
    return found


def annotation(maps: Maps, between: Maps, example: Example, owners: Words) -> Sums:
    """Linguistic features and token to token, vectorised over heads."""
    found: Sums = {}
    received = maps.mean(-2)
    heads = example.heads
    words = word_features(example)
    pieces = np.array([-1 if word is None else word for word in owners])
    for name, places in words.items():
        tokens = np.isin(pieces, places)
        if tokens.any():
            found[f"feature {name}"] = received[..., tokens].max(-1)
            found[f"first {name}"] = maps[..., 0, tokens].max(-1)
            found[f"texts {name}"] = np.array(1)
    verbs = set(words["verb"])
    linked = {
        "noun to pronoun": [(n, p) for n in words["noun"] for p in words["pronoun"]],
        "verb to subject": [(heads[s], s) for s in words["subject"] if heads[s] in verbs],
        "verb to object": [(heads[o], o) for o in words["object"] if heads[o] in verbs],
    }
    for name, forward in linked.items():
        one, other = name.split(" to ")
        for group, pairs in ((name, forward), (f"{other} to {one}", [(k, q) for q, k in forward])):
            if pairs:
                found |= pair_weights(between, group, pairs)
    return found


def pair_weights(between: Maps, group: str, pairs: list[tuple[int, int]]) -> Sums:
    """Weights of linked words, and of words so far apart that are not linked."""
    queries, keys = np.array(pairs).T
    weights = between[..., queries, keys]
    total: Any = 0
    matched: Any = 0
    count = 0
    size = between.shape[-1]
    for place, distance in enumerate(keys - queries):
        same = keys - queries == distance
        free = size - abs(distance) - same.sum()
        if free:
            others = np.diagonal(between, distance, -2, -1).sum(-1) - weights[..., same].sum(-1)
            total, matched, count = total + weights[..., place], matched + others / free, count + 1
    largest = [weights[..., keys == key].mean(-1) for key in np.unique(keys)]
    found: Sums = {f"largest {group}": np.max(largest, 0), f"pair texts {group}": np.array(1)}
    if count:
        found |= {f"weight {group}": total, f"matched {group}": matched}
        found[f"pairs {group}"] = np.array(count)
    return found
