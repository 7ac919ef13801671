"""A control of the tests themselves: where the annotation says nothing, they find nothing.

Gold heads are redrawn so that each relation keeps its distribution of offsets. What a head finds
then is what position is worth, and the p-values of the test must not be small too often.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from headscope._util.progress import NoProgress
from headscope.corpus import Example, read
from headscope.evidence import HEADS, HeadRow
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from headscope.report.head_roles import head_roles, labels
from tests.unit.examples import corpus_of

RELATIONS = 100  # instances that a relation must have


def with_redrawn_heads(examples: list[Example], rng: np.random.Generator) -> list[Example]:
    """Every head drawn anew from the offsets of its relation, among those inside the sentence."""
    offsets = defaultdict(list)
    for example in examples:
        for word, (head, relation) in enumerate(zip(example.heads, example.relations, strict=True)):
            if head >= 0:
                offsets[relation].append(head - word)
    redrawn = []
    for example in examples:
        heads = list(example.heads)
        for word, (head, relation) in enumerate(zip(example.heads, example.relations, strict=True)):
            if head >= 0:
                room = [o for o in offsets[relation] if 0 <= word + o < len(example.words)]
                heads[word] = word + int(rng.choice(room))
        redrawn.append(replace(example, heads=tuple(heads)))
    return redrawn


def scanned(model: Model, examples: list[Example], untrained: int = 0) -> tuple[list[HeadRow], int]:
    """The rows of accuracy per head, and how many heads are called syntactic."""
    results = scan(
        model,
        corpus_of(examples),
        only=["dependencies"],
        settings=Settings(min_count=RELATIONS, untrained=untrained),
        progress=NoProgress(),
    )
    rows = [
        row
        for row in results.rows(HEADS, statistic="accuracy")
        if row.head is not None and row.group != "all"
    ]
    return rows, len(labels(head_roles(results, "made")))


def test_redrawn_heads_are_found_no_better_than_position_allows(minilm: Model) -> None:
    examples = list(read("tour"))
    p, discoveries, syntactic = [], 0, 0
    for seed in range(6):
        rows, called = scanned(minilm, with_redrawn_heads(examples, np.random.default_rng(seed)))
        p += [row.p for row in rows if row.p is not None and row.direction != "head-row"]
        discoveries += sum(row.q is not None and row.q < 0.05 for row in rows)
        syntactic += called
    values = np.array(p)
    assert len(values) > 2000
    for level in (0.01, 0.05, 0.2, 0.5):  # conservative, never too many small ones
        share = float((values < level).mean())
        assert 0.1 * level <= share <= level, (level, share)
    assert discoveries <= 2  # of some 6 x 1,700 tests
    assert syntactic <= 2


def test_the_annotation_as_it_is_is_found(minilm: Model) -> None:
    """The same test on the real trees has power: many heads, and for most relations."""
    rows, called = scanned(minilm, list(read("tour")), untrained=2)
    sure = [row for row in rows if row.q is not None and row.q < 0.05]
    assert len(sure) > 0.04 * len(rows)
    assert called >= 3  # not the value, the evidence must pass the threshold
