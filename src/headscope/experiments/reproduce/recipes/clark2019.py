"""Clark et al. 2019: what BERT looks at, by the conventions of their notebooks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headscope.analyses.coreference import GROUPS
from headscope.evidence import HEADS, HeadRow
from headscope.experiments.probe.tables import (
    ATTENTION,
    ATTENTION_AND_WORDS,
    PROBES,
    RANDOM_LAYERS,
    TRAINED,
    UAS,
    WORDS_AND_DISTANCE,
)
from headscope.experiments.reproduce.inputs import CannotReproduceError
from headscope.experiments.reproduce.recipes._document_means import (
    ENTROPIES,
    DocumentMeans,
)
from headscope.experiments.reproduce.workbench import (
    Quantities,
    Recomputed,
    Workbench,
    best_of,
    paper_name,
    recipe,
)
from headscope.experiments.scan.settings import Settings
from headscope.runs import RunResults

PAPER = "clark2019"
OFFSETS = tuple(f"{offset:+d}" for offset in (-3, -2, -1, 1, 2))
"""The offsets that their notebook tries; 0 is a word itself."""
FEWEST = 100
"""Words of a relation that is in their table."""
WINDOW = 128
"""Pieces of a document, which the paper cuts to so many."""
BROAD, BESIDE, RESTING = 3.8, 0.5, 0.6
"""From their notebook: entropy in nats, attention to a neighbour, to special tokens."""
PERCENT = 100.0


@recipe(PAPER, "dependencies", "treebank")
def dependencies(bench: Workbench) -> Quantities:
    """Table 1: of every relation the best head and the best offset, both on the same words."""
    options = {"possessive": True, "all_words": True, "clip_offsets": True}
    settings = Settings(
        pieces="first", min_count=FEWEST, untrained=0, options={"dependencies": options}
    )
    results = bench.scan("dependencies", "treebank", only=["dependencies"], settings=settings)
    rows = results.rows(HEADS, analysis="dependencies")
    accuracy = [row for row in rows if row.statistic == "accuracy" and row.head is not None]
    found: Quantities = {}
    for relation in dict.fromkeys(str(row.group) for row in accuracy):
        best = best_of(
            row for row in accuracy if row.group == relation and row.direction in ("row", "column")
        )
        offset = best_of(
            row
            for row in rows
            if row.statistic == "fixed_offset"
            and row.group == relation
            and row.direction in OFFSETS
        )
        found[f"{relation} accuracy"] = Recomputed.of(best, PERCENT)
        found[f"{relation} head"] = Recomputed(label=paper_name(best), n=best.n)
        found[f"{relation} offset accuracy"] = Recomputed.of(offset, PERCENT)
        found[f"{relation} offset"] = Recomputed(float(str(offset.direction)), n=offset.n)
        if relation == "all":
            after = next(
                row for row in rows if row.statistic == "fixed_offset" and row.direction == "+1"
            )
            found["right-branching"] = Recomputed.of(after, PERCENT)
    return found


@recipe(PAPER, "surface", "segments")
def surface(bench: Workbench) -> Quantities:
    """Section 3: neighbours, special tokens and entropy, as means over documents."""
    settings = Settings(max_length=WINDOW, untrained=0)
    results = bench.scan("surface", "segments", only=[DocumentMeans], settings=settings)
    rows = results.rows(HEADS)
    found: Quantities = {}
    for row in rows:
        if row.statistic in ("mass", "entropy"):
            name = f"{row.group} {paper_name(row)}" if row.layer is not None else ""
            found |= {name: Recomputed.of(row)} if name else {}
    last = bench.model.layers
    found["entropy from [CLS], last layer"] = found[f"entropy from [CLS] layer {last}"]
    heads = [row for row in rows if row.head is not None]
    found |= neighbours(heads)
    found |= separators([row for row in rows if row.head is None])
    found |= classes(heads)
    even = {row.group: row for row in rows if row.statistic == "even" and row.layer == 0}
    found["even [SEP]"] = Recomputed.of(even["share of [SEP]"], PERCENT)
    found["even entropy"] = Recomputed.of(even["entropy"])
    return found


def neighbours(heads: list[HeadRow]) -> Quantities:
    """Of every layer the head that looks most at a neighbour, and how many look there mostly."""
    found: Quantities = {}
    for place in ("previous", "next"):
        near = [row for row in heads if row.statistic == "near" and row.group == place]
        found[f"{place} heads"] = Recomputed(float(sum(row.value > BESIDE for row in near)))
        for layer in dict.fromkeys(row.layer for row in near):
            assert layer is not None
            best = best_of(row for row in near if row.layer == layer)
            found[f"{place} layer {layer + 1}"] = Recomputed.of(best)
    return found


def separators(rows: list[HeadRow]) -> Quantities:
    """Mean attention to separators in the middle layers, 6 to 10 of 12; none in fewer layers.

    Args:
        rows: of layers and of the model.
    """
    layers = [
        row
        for row in rows
        if row.statistic == "mass" and row.layer is not None and 5 <= row.layer <= 9
    ]
    found: Quantities = {}
    for group in ("[SEP]", "[SEP] -> [SEP]"):
        same = [row for row in layers if row.group == group]
        if len(same) == 5:
            mean = float(np.mean([row.value for row in same]))
            found[f"{group} layers 6-10"] = Recomputed(PERCENT * mean, n=same[0].n)
    return found


def classes(heads: list[HeadRow]) -> Quantities:
    """How many heads are of each class of figure 6, and what broad heads put on one word."""

    def count(statistic: str, group: str, floor: float) -> Recomputed:
        same = [row for row in heads if (row.statistic, row.group) == (statistic, group)]
        return Recomputed(float(sum(row.value > floor for row in same)))

    found = {
        "class broad": count("entropy", "entropy", BROAD),
        "class next": count("near", "next", BESIDE),
        "class prev": count("near", "previous", BESIDE),
        "class [CLS]": count("mass", "[CLS]", RESTING),
        "class [SEP]": count("mass", "[SEP]", RESTING),
        "class . and ,": count("mass", ". or ,", RESTING),
    }
    broad = {
        row.place
        for row in heads
        if row.statistic == "entropy" and row.group == ENTROPIES[0] and row.value > BROAD
    }
    largest = [row.value for row in heads if row.statistic == "largest" and row.place in broad]
    if largest:
        found["broad, largest weight"] = Recomputed(PERCENT * float(np.mean(largest)))
    return found


@recipe(PAPER, "splits", "treebank")
def splits(bench: Workbench) -> Quantities:
    """Section 4.1: words that the tokenizer splits."""
    split = words = 0
    for pieces in bench.model.encode(list(bench.inputs.corpus("treebank")), None):
        _, sizes = np.unique(pieces.word[pieces.word >= 0], return_counts=True)
        split, words = split + int((sizes > 1).sum()), words + len(sizes)
    return {"split words": Recomputed(PERCENT * split / words, n=words)}


@recipe(PAPER, "coreference", "coreference")
def coreference(bench: Workbench) -> Quantities:
    """Table 2: antecedents by the best head, and by rules, in windows of 128 pieces."""
    settings = Settings(max_length=WINDOW, min_count=1, untrained=0)
    results = bench.scan("coreference", "coreference", only=["coreference"], settings=settings)
    rows = results.rows(HEADS, analysis="coreference")
    accuracy = [row for row in rows if row.statistic == "accuracy" and row.head is not None]
    if not accuracy:
        raise CannotReproduceError("no mention has an antecedent in its window")
    best = best_of(row for row in accuracy if row.group == "all")
    found = {"head": Recomputed(label=paper_name(best), n=best.n)}
    for group in GROUPS:
        for row in accuracy:
            if row.group == group and row.place == best.place:
                found[f"head {group}"] = Recomputed.of(row, PERCENT)
        for row in rows:
            if row.group == group and row.statistic in ("nearest", "head_match", "sieve"):
                found[f"{row.statistic} {group}"] = Recomputed.of(row, PERCENT)
    rule = found["head_match all"].value
    assert rule is not None
    found["gain over head match"] = Recomputed(PERCENT * best.value - rule, n=best.n)
    return found


@recipe(PAPER, "probes", "treebank_train", "treebank_test", "vectors")
def probes(bench: Workbench) -> Quantities:
    """Table 3: probes of attention, and of attention with word vectors."""
    from headscope.experiments.probe import probe

    results = bench.run(
        "probes",
        probe,
        bench.model,
        bench.inputs.corpus("treebank_train"),
        bench.inputs.corpus("treebank_test"),
        vectors=bench.inputs.source("vectors"),
        seeds=1,
    )
    return dict(_probe_scores(results))


def _probe_scores(results: RunResults) -> Iterator[tuple[str, Recomputed]]:
    names = {
        ("right-branching", None): "right-branching",
        (WORDS_AND_DISTANCE, None): "distances and words",
        (ATTENTION, TRAINED): "attention",
        (ATTENTION_AND_WORDS, TRAINED): "attention and words",
        (ATTENTION_AND_WORDS, RANDOM_LAYERS): "random attention and words",
    }
    for row in results.rows(PROBES, measure=UAS):
        known = names.get((row.probe, row.weights)) or names.get((row.probe, None))
        if known:
            low, high = (None if one is None else PERCENT * one for one in (row.low, row.high))
            yield known, Recomputed(PERCENT * row.value, low, high, row.n)
