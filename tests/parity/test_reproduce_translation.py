"""Recipes for papers on translation models, against counts that are slow and obvious."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import headscope as hs
from headscope.experiments.reproduce.recipes._drawn_links import SETTINGS, count_links
from headscope.experiments.reproduce.recipes.voita2019 import text_statistics
from headscope.model import Model, wrap
from headscope.testing import tiny_tokenizer
from tests.families import family_network
from tests.unit.examples import aligned_examples

ALIGNED = [
    ("ab cd ef gh", "ij kl aa", ((0, 1, "sure"), (1, 0, "sure"), (3, 2, "possible"))),
    ("aa bb", "cc dd ee ff", ((0, 0, "sure"), (1, 3, "sure"), (1, 2, "possible"))),
    ("gh ij kl", "gh", ((1, 0, "sure"),)),
    ("abgh ijkl cd", "ab abcd", ((0, 0, "sure"), (2, 1, "sure"), (1, 1, "possible"))),
    ("kl cd . aa", "ij , bbcc ab", ((0, 3, "sure"), (2, 1, "sure"))),
]


@pytest.fixture(scope="module")
def translator() -> Model:
    return wrap(family_network("marian").eval(), tiny_tokenizer(), "marian")


@torch.inference_mode()
def added_by_heads(model: Model, batch: Any, layer: int) -> tuple[Tensor, Tensor]:
    """(head, query, key) attention, and (head, query, key, hidden) the vectors that it adds."""
    network: Any = model.network
    outputs = network(**batch.inputs(network), output_attentions=True)
    attention = network.decoder.layers[layer].encoder_attn
    values = attention.v_proj(outputs.encoder_last_hidden_state[0])
    maps = outputs.cross_attentions[layer][0]
    size = attention.head_dim
    vectors = []
    for head, weights in enumerate(maps):
        part = slice(head * size, (head + 1) * size)
        transformed = values[:, part] @ attention.out_proj.weight[:, part].T
        vectors.append(torch.stack([row[:, None] * transformed for row in weights]))
    return maps, torch.stack(vectors)


def drawn_by_hand(matrix: Tensor, source: Any, target: Any, said: bool) -> set[tuple[int, int]]:
    """Links from every target word, as the authors' script draws them: (source, target)."""
    links = set()
    for word in range(len(target.words)):
        rows = [place - said for place, its in enumerate(target.word.tolist()) if its == word]
        row = matrix[rows].mean(0)
        sums = dict.fromkeys((*range(len(source.words)), -1), 0.0)
        for value, its in zip(row.tolist(), source.word.tolist(), strict=True):
            sums[its] += value
        best = max(sums, key=lambda each: sums[each])
        if best >= 0:
            links.add((best, word))
    return links


def test_error_rates_and_norms_are_those_of_the_models_own_attention(translator: Model) -> None:
    network: Any = translator.network
    network.set_attn_implementation("eager")
    examples = aligned_examples(ALIGNED)
    errors = count_links(translator, translator.encode(examples))
    rates, norms = errors.rates()[0], errors.mean_norms()[0]
    heads = translator.heads
    ends = 0
    for layer in range(len(network.decoder.layers)):
        counts: Counter[tuple[str, int, int]] = Counter()
        links: Counter[tuple[str, int, int]] = Counter()
        summed, pairs = np.zeros(heads), 0
        for example in examples:
            (pieces,) = translator.encode([example])
            batch: Any = translator.batch([pieces])
            maps, vectors = added_by_heads(translator, batch, layer)
            lengths = vectors.norm(dim=-1)
            summed += lengths.sum((1, 2)).numpy()
            pairs += maps[0].numel()
            units = [
                [*maps, maps.mean(0)],
                [*lengths, vectors.sum(0).norm(dim=-1)],
            ]
            sure = {(a, b) for a, b, label in example.alignment if label == "sure"}
            possible = {(a, b) for a, b, _ in example.alignment}
            target = batch.target.pieces[0]
            for setting, by, unit in product(SETTINGS, range(2), range(heads + 1)):
                drawn = drawn_by_hand(units[by][unit], pieces, target, setting == "AWO")
                ends += len(target.words) - len(drawn)
                counts[setting, by, unit] += len(drawn & sure) + len(drawn & possible)
                links[setting, by, unit] += len(drawn) + len(sure)
        for (setting, by, unit), total in links.items():
            expected = 1 - counts[setting, by, unit] / total
            place = (SETTINGS.index(setting), by, layer, unit)
            assert rates[place] == pytest.approx(expected, abs=1e-9), place
        assert norms[layer] == pytest.approx(summed / pairs, rel=1e-4)
    assert ends > 0  # some words are linked to nothing, because the end has more


def test_resampled_error_rates_are_of_the_texts_that_were_drawn(translator: Model) -> None:
    texts = translator.encode(aligned_examples(ALIGNED))
    errors = count_links(translator, texts)
    weights = errors.weights[7]
    again = [text for text, times in zip(texts, weights, strict=True) for _ in range(int(times))]
    assert errors.rates()[7] == pytest.approx(count_links(translator, again).rates()[0])
    assert errors.mean_norms()[7] == pytest.approx(count_links(translator, again).mean_norms()[0])


def test_places_of_dependents_are_what_a_plain_loop_counts() -> None:
    treebank = hs.read("tour")
    found = dict(text_statistics(treebank))
    names = {"nsubj": ("nsubj",), "dobj": ("dobj", "obj"), "amod": ("amod",), "advmod": ("advmod",)}
    persons: Counter[str] = Counter()
    for relation, labels in names.items():
        offsets: Counter[int] = Counter()
        for example in treebank:
            for place in range(len(example.words)):
                if example.relations[place] in labels and example.heads[place] >= 0:
                    offsets[place - example.heads[place]] += 1
                    persons[example.words[place].lower()] += relation == "nsubj"
        total = sum(offsets.values())
        assert total > 20
        for offset, count in offsets.items():
            assert found[f"{relation} at {offset:+d}"].value == pytest.approx(count / total)
        best = max(offsets.values())
        assert found[f"{relation} baseline"].value == pytest.approx(100 * best / total)
        assert found[f"{relation} baseline, share"].n == total
    subjects = sum(persons.values())
    first = 100 * (persons["i"] + persons["we"]) / subjects
    assert found["first person"].value == pytest.approx(first)
    shares = [found[f"{person} person"].value or 0 for person in ("first", "second", "third")]
    assert sum(shares) == pytest.approx(100)
    lengths = [len(example.words) for example in treebank]
    assert found["sentence length"].value == pytest.approx(np.mean(lengths))
