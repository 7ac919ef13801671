"""What only recipes compute equals a slow, obvious computation."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from headscope._util.progress import NoProgress
from headscope.corpus import Example, read
from headscope.evidence import HEADS
from headscope.experiments.look import look
from headscope.experiments.reproduce.inputs import Inputs
from headscope.experiments.reproduce.paper import load_paper
from headscope.experiments.reproduce.recipes import clark2019, kovaleva2019
from headscope.experiments.reproduce.recipes._document_means import DocumentMeans
from headscope.experiments.reproduce.workbench import Workbench
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from tests.parity.annotated import Annotated, linking
from tests.parity.test_analyses import texts
from tests.parity.test_annotated import trees
from tests.unit.examples import corpus_of

PAIRS = [
    Example("1", text="It rained, and it rained.", pair="The streets are wet."),
    Example("2", text="Cats sleep.", pair="Dogs, mice and birds, though awake, are quiet."),
    Example("3", text="A much longer paragraph, to see that texts count alike.", pair="No."),
]
Means = dict[tuple[str, str | None, int, int], list[float]]


def by_document(model: Model, examples: list[Example]) -> Means:
    """The numbers of every document, as the notebook of Clark et al. defines them."""
    found: Means = defaultdict(list)
    for text in texts(model, examples):
        size, separators = text.length, [n for n, one in enumerate(text.separator) if one]
        stops = [n for n, one in enumerate(text.stop) if one]
        others = [n for n in range(size) if n not in separators]
        assert len(separators) == 2
        for layer, head, weights in text.heads():
            if head < 0:
                continue

            def add(name: str, group: str | None, value: float, at: tuple[int, int]) -> None:
                found[name, group, *at].append(value)

            at = layer, head
            add("mass", "[CLS]", sum(weights[i, 0] for i in range(size)) / size, at)
            to = [sum(weights[i, j] for j in separators) for i in range(size)]
            add("mass", "[SEP]", sum(to) / size, at)
            add("mass", ". or ,", sum(weights[i, j] for i in range(size) for j in stops) / size, at)
            add("mass", "[SEP] -> [SEP]", sum(to[i] for i in separators) / 2, at)
            add("mass", "other -> [SEP]", sum(to[i] for i in others) / (size - 2), at)
            add("near", "previous", sum(weights[i, i - 1] for i in range(1, size)) / size, at)
            add("near", "next", sum(weights[i, i + 1] for i in range(size - 1)) / size, at)
            add("largest", None, sum(max(weights[i]) for i in range(size)) / size, at)
            smooth = 0.9999 * weights + 0.0001 / size
            entropy = [-sum(p * np.log(p) for p in smooth[i]) for i in range(size)]
            add("entropy", "entropy", sum(entropy) / size, at)
            add("entropy", "entropy from [CLS]", entropy[0], at)
    return found


def test_means_over_documents_are_those_of_the_notebook(minilm: Model) -> None:
    expected = by_document(minilm, PAIRS)
    results = scan(
        minilm,
        corpus_of(PAIRS),
        only=[DocumentMeans],
        settings=Settings(untrained=0),
        progress=NoProgress(),
    )
    rows = [row for row in results.rows(HEADS) if row.head is not None]
    seen = {(row.statistic, row.group, *row.place): row.value for row in rows}
    for key, values in expected.items():
        assert seen[key] == pytest.approx(np.mean(values), abs=2e-6), key
        assert all(row.n == len(PAIRS) for row in rows)
    extra = {key[:2] for key in seen.keys() - expected.keys()}
    assert extra == {("near", "itself")}


def test_the_printed_row_of_figure_3_is_that_of_the_map(minilm: Model) -> None:
    bench = Workbench(
        minilm, Inputs.of(load_paper("kovaleva2019"), None, {}, None), None, NoProgress()
    )
    found = kovaleva2019.example(bench)
    seen = look(minilm, "He was becoming agitated .")
    assert seen.tokens[1].lower() == "he"
    assert found["example 2-3 agitated"].value == pytest.approx(
        float(seen.maps[1, 2, 1, seen.tokens.index("agitated")])
    )
    assert sum(found[f"example 2-3 {token.lower()}"].value or 0 for token in seen.tokens) == (
        pytest.approx(1, abs=1e-5)
    )


def test_table_1_is_the_best_of_all_heads_and_offsets(
    minilm: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a split word its first piece; both directions; offsets that are clipped to the text."""
    monkeypatch.setattr(clark2019, "FEWEST", 20)
    limit, relations = 40, ("det", "nsubj", "aux")
    inputs = Inputs.of(load_paper("clark2019"), None, {"treebank": "tour"}, limit)
    found = clark2019.dependencies(Workbench(minilm, inputs, None, NoProgress()))
    examples = list(read("tour", limit=limit))
    pairs = zip(texts(minilm, examples), examples, strict=True)
    corpus = [(Annotated(text, example), trees(example)) for text, example in pairs]
    hits: dict[tuple[str, str, int, int], list[float]] = defaultdict(list)
    for ((_, _, relation, way), layer, head, hit, _), _ in linking("", corpus, "first"):
        hits[str(relation).partition(":")[0], str(way), layer, head].append(hit)  # with subtypes
    for relation in relations:
        best, name = max(
            (float(np.mean(values)), f"{layer + 1}-{head + 1}")
            for (label, way, layer, head), values in hits.items()
            if label == relation and way != "head-row"
        )
        assert found[f"{relation} accuracy"].value == pytest.approx(100 * best)
        ties = {
            f"{layer + 1}-{head + 1}"
            for (label, way, layer, head), values in hits.items()
            if (label, float(np.mean(values))) == (relation, best) and way != "head-row"
        }
        assert name in ties
        assert found[f"{relation} head"].label in ties
        scores = {}
        for offset in (-3, -2, -1, 1, 2):
            right = [
                min(max(word + offset, 0), len(example.words) - 1) == example.heads[word]
                for example in examples
                for word, label in enumerate(example.relations)
                if label.partition(":")[0] == relation
            ]
            scores[offset] = float(np.mean(right))
        assert found[f"{relation} offset accuracy"].value == pytest.approx(
            100 * max(scores.values())
        )
        assert scores[int(found[f"{relation} offset"].value or 0)] == max(scores.values())
