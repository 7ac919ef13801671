"""Heads of untrained networks know nothing: at most 5% pass a test, and none after correction."""

from __future__ import annotations

from pathlib import Path

from bench.untrained import BEFORE, FIRST_SEED, Counts, untrained_tests

from headscope.corpus import read
from headscope.evidence.interval import ALPHA
from headscope.model import Model
from tests.tiny import tiny


def assert_nothing_is_found(counts: Counts) -> None:
    for name, count in counts.items():
        assert count.share <= ALPHA, name
        assert (count.sure, count.best) == (0, 0), name


def test_untrained_heads_pass_no_test_on_the_tour(minilm: Model) -> None:
    counts = untrained_tests(minilm, [read("tour")], [FIRST_SEED])
    assert len(counts) >= 18  # the statistics of all analyses that have a baseline
    assert sum(count.tests for count in counts.values()) > 8000
    assert_nothing_is_found(counts)


def test_untrained_heads_pass_no_test_on_real_corpora(minilm: Model, data: Path) -> None:
    """All analyses on a treebank; frames and coreference where they are annotated."""
    treebank = read(data / "ud" / "en_ewt-ud-test.conllu.gz", limit=400)
    counts = untrained_tests(minilm, [treebank], [FIRST_SEED + 1])
    frames = f"framenet:{data / 'framenet' / 'exemplars_le12tok.jsonl.gz'}"
    chains = f"gap:{data / 'coref' / 'gap-validation.tsv.gz'}"
    for corpus, name in ((frames, "frames"), (chains, "coreference")):
        counts |= untrained_tests(minilm, [read(corpus, limit=200)], [FIRST_SEED + 1], only=[name])
    assert {"dependencies: gain", "frames: largest", "coreference: accuracy"} <= set(counts)
    assert_nothing_is_found(counts)


def test_untrained_heads_of_a_decoder_pass_no_test() -> None:
    counts = untrained_tests(tiny("gpt2"), [read("tour", limit=60)], [FIRST_SEED])
    assert any(name.startswith("repetition") for name in counts)
    assert_nothing_is_found(counts)


def test_against_uniform_attention_most_of_them_would_be_found(minilm: Model) -> None:
    """What the margins are for: a head that knows nothing is not uniform."""
    only = ["linguistic_features"]
    counts = untrained_tests(minilm, [read("tour")], [FIRST_SEED], BEFORE, only)
    assert counts["linguistic_features: largest"].share > 0.3
