"""A control of the tests themselves: where the annotation says nothing, they find nothing.

Gold heads are redrawn so that each relation keeps its distribution of offsets. What a head finds
then is what position is worth, and the p-values of the test must not be small too often.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from headscope._util.progress import NoProgress
from headscope.corpus import Example, Rules, read
from headscope.experiments.scan import scan
from headscope.experiments.scan.passes import Options
from headscope.model import Model
from headscope.report.head_roles import labelled, roles
from tests.unit.examples import corpus_of

RELATIONS = 100  # instances that a relation must have


def redrawn(examples: list[Example], rng: np.random.Generator) -> list[Example]:
    """Every head drawn anew from the offsets of its relation, among those inside the sentence."""
    offsets = defaultdict(list)
    for one in examples:
        for word, (head, relation) in enumerate(zip(one.heads, one.relations, strict=True)):
            if head >= 0:
                offsets[relation].append(head - word)
    made = []
    for one in examples:
        heads = list(one.heads)
        for word, (head, relation) in enumerate(zip(one.heads, one.relations, strict=True)):
            if head >= 0:
                room = [o for o in offsets[relation] if 0 <= word + o < len(one.words)]
                heads[word] = word + int(rng.choice(room))
        made.append(replace(one, heads=tuple(heads)))
    return made


def scanned(model: Model, examples: list[Example]) -> tuple[list[dict[str, Any]], int]:
    """The rows of accuracy per head, and how many heads are called syntactic."""
    options = Options(rules=Rules(min_count=RELATIONS))
    found = scan(model, corpus_of(examples), only=["dependencies"], options=options,
                 progress=NoProgress())  # fmt: skip
    rows = [
        row for row in found.heads.to_pylist()
        if row["statistic"] == "accuracy" and row["head"] is not None and row["group"] != "all"
    ]  # fmt: skip
    return rows, len(labelled(roles(found, "made")))


def test_redrawn_heads_are_found_no_better_than_position_allows(minilm: Model) -> None:
    examples = list(read("tour"))
    p, discoveries, labels = [], 0, 0
    for seed in range(6):
        rows, called = scanned(minilm, redrawn(examples, np.random.default_rng(seed)))
        p += [row["p"] for row in rows if row["p"] is not None and row["direction"] != "head-row"]
        discoveries += sum(row["q"] is not None and row["q"] < 0.05 for row in rows)
        labels += called
    values = np.array(p)
    assert len(values) > 2000
    for level in (0.01, 0.05, 0.2, 0.5):  # nearly uniform, never too many small ones
        share = float((values < level).mean())
        assert 0.25 * level <= share <= 1.15 * level + 0.003, (level, share)
    assert discoveries <= 2  # of some 6 x 1,700 tests
    assert labels <= 2


def test_the_annotation_as_it_is_is_found(minilm: Model) -> None:
    """The same test on the real trees has power: many heads, and for most relations."""
    rows, called = scanned(minilm, list(read("tour")))
    sure = [row for row in rows if row["q"] is not None and row["q"] < 0.05]
    assert len(sure) > 0.1 * len(rows)
    assert called >= 3  # not the value, the evidence must pass the threshold
