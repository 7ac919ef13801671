"""Every analysis equals its reference implementation: padded batches against one text at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from headscope._util.progress import NoProgress
from headscope.analyses import analyses
from headscope.corpus import Example, read
from headscope.corpus.frequencies import Frequencies
from headscope.evidence import HEADS
from headscope.experiments.scan import scan
from headscope.model import Model
from headscope.model.token_roles import STOPS, is_punctuation
from headscope.runs import RunResults
from tests.parity import reference
from tests.parity.annotated import Annotated, linguistic_features
from tests.parity.reference import Key, Text
from tests.tiny import tiny, tiny_that_knows_nothing
from tests.unit.examples import corpus_of

SHAPES = {"distances", "patterns", "repetition", "rollout", "value_norms"}  # in test_shapes.py
PLAIN = [
    name
    for name, kind in analyses().items()
    if kind.annotation is None and name not in {*SHAPES, "alignment"}
]
Totals = dict[tuple[Key, int, int], list[float]]  # sum and count by what, layer, head

SENTENCES = [
    "ab cd ef . gh",
    "aabb cc , dd a b c . !",
    "b b b b b b",
    "kaka lele gaga . dada",
    "a",
    "dededede fa , fa fa fa fa fa fa fa fa fa fa fa fa ga ha .",
]


def texts(model: Model, examples: list[Example]) -> Iterator[Text]:
    """The maps of the model's own eager attention, one unpadded text at a time."""
    model.network.set_attn_implementation("eager")
    try:
        for example in examples:
            pieces = model.encode([example])[0]
            tokens = model.tokens(pieces)
            inputs = {
                "input_ids": torch.tensor(pieces.ids)[None],
                "attention_mask": torch.ones(1, len(pieces), dtype=torch.long),
            }
            if example.pair is not None:
                after = [tokens[:place].count("[SEP]") for place in range(len(tokens))]
                inputs["token_type_ids"] = torch.tensor(after)[None]
            with torch.no_grad():
                output = model.network(**inputs, output_attentions=True)
            maps = torch.stack(output.attentions)[:, 0].double().numpy()
            specials = pieces.special.tolist()
            yield Text(
                maps,
                np.asarray((maps > 0).any(1)),
                specials,
                [t == "[SEP]" and place > 0 for place, t in enumerate(tokens)],
                [is_punctuation(t) and not s for t, s in zip(tokens, specials, strict=True)],
                [t in STOPS for t in tokens],
                [None if word < 0 else word for word in pieces.word.tolist()],
                list(pieces.words),
            )
    finally:
        model.network.set_attn_implementation("sdpa")


def slow(model: Model, examples: list[Example], counts: Counter[str]) -> Totals:
    """Sums and counts of every reference implementation, by what, layer, head."""
    totals: Totals = defaultdict(lambda: [0.0, 0.0])
    for text in texts(model, examples):
        for items in (
            reference.relative_position(text),
            reference.special_tokens(text),
            reference.focus(text),
            reference.confidence(text),
            reference.offset_argmax(text),
            reference.rare_words(text, counts),
            linguistic_features(Annotated(text, Example("no annotation")), {}),
        ):
            for what, layer, head, amount, count in items:
                total = totals[what, layer, head]
                total[0] += amount
                total[1] += count
    return totals


def check(results: RunResults, totals: Totals, tolerance: float) -> None:
    seen = 0
    for row in results.rows(HEADS):
        if row.head is None:
            continue
        what = (row.analysis, row.statistic, row.group, row.direction)
        amount, count = totals[what, *row.place]
        base, base_count = totals[what, row.place[0], -1]
        assert row.n == count, what
        assert row.value == pytest.approx(amount / count, abs=tolerance), (what, row)
        assert row.baseline == pytest.approx(base / base_count, abs=1e-6), what
        seen += 1
    expected = [key for key, (_, count) in totals.items() if count and key[2] >= 0]
    assert seen == len(expected)
    assert {row.analysis for row in results.rows(HEADS)} == set(PLAIN)


@pytest.mark.parametrize("family", ["bert", "gpt2", "modernbert", "mpnet"])
def test_scan_equals_the_reference_on_tiny_models(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.corpus.frequencies.FREQUENT", 3)
    model = tiny(family)
    sentences = SENTENCES + [f"{a}{b} {b} {a} ." for a in "abcdef" for b in "ghij"]
    examples = [Example(str(n), text=text) for n, text in enumerate(sentences)]
    frequencies = Frequencies()
    for pieces in model.encode(examples):
        frequencies.count(pieces.words)
    results = scan(model, corpus_of(examples), only=PLAIN, progress=NoProgress())
    counts = Counter(frequencies._counts)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:3]
    assert frozenset(frequent) == frequencies.frequent
    totals = slow(model, examples, _padded(counts, frequent))
    check(results, totals, 2e-6)


def _padded(counts: Counter[str], frequent: list[str]) -> Counter[str]:
    """The reference knows the papers' 500: fill the ranks between with words that never occur."""
    padded = Counter(counts)
    floor = max(counts.values()) + 1
    for word in frequent:
        padded[word] += floor
    padded.update({f"filler {n}": floor for n in range(500 - len(frequent))})
    return padded


def test_scan_equals_the_reference_on_minilm(minilm: Model) -> None:
    corpus = read("tour", limit=16)
    examples = list(corpus)
    frequencies = Frequencies()
    for pieces in minilm.encode(examples):
        frequencies.count(pieces.words)
    names = [name for name in PLAIN if name != "linguistic_features"]
    results = scan(minilm, corpus, only=names, progress=NoProgress())
    totals = slow(minilm, examples, Counter(frequencies._counts))
    for row in results.rows(HEADS):
        if row.head is not None:
            what = (row.analysis, row.statistic, row.group, row.direction)
            amount, count = totals[what, *row.place]
            # float32 may turn one argmax of a near tie; everything else is close
            tolerance = 1.5 / count if row.statistic == "share" else 1e-5
            assert row.n == count
            assert row.value == pytest.approx(amount / count, abs=tolerance)


def test_attention_rows_of_a_random_model_are_near_uniform() -> None:
    """A control: where nothing was learned, entropy is near its largest and offsets near chance."""
    model = tiny_that_knows_nothing()
    examples = [Example(str(n), text=f"{a}b cd ef gh .") for n, a in enumerate("abcdefghijkl")]
    results = scan(model, corpus_of(examples), progress=NoProgress())
    for row in results.rows(HEADS):
        if row.statistic == "entropy_relative":
            assert row.value == pytest.approx(1, abs=1e-3)
        if row.analysis == "relative_position":
            assert row.value == pytest.approx(row.baseline, abs=1e-3)
    assert np.isfinite([row.value for row in results.rows(HEADS)]).all()
