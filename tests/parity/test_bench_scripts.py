"""The scripts that the benchmark compares with compute what a scan computes: the race is fair."""

from __future__ import annotations

import numpy as np
import pytest
from bench.scripts import Sums, padded_batches, sentence_by_sentence

from headscope.corpus import read
from headscope.model import Model
from headscope.progress import Silent
from headscope.study import scan

TOUR = read("tour")


@pytest.mark.parametrize("script", ["single", "padded"])
def test_a_script_equals_a_scan(minilm: Model, script: str) -> None:
    found = scan(minilm, TOUR, progress=Silent())
    minilm.network.set_attn_implementation("eager")
    try:
        sums: Sums = (
            sentence_by_sentence(minilm, TOUR)
            if script == "single"
            else padded_batches(minilm, TOUR, 128, 8)
        )
    finally:
        minilm.network.set_attn_implementation("sdpa")
    queries = sums["count 0"]
    expected = {
        ("focus", "entropy", None): sums["entropy"] / sums["rows"],
        ("focus", "entropy_first", None): sums["first"] / sum(1 for _ in TOUR),
        ("confidence", "largest", None): sums["largest"] / queries,
        ("relative_position", "weight", "-1"): sums["offset -1"] / sums["count -1"],
        ("relative_position", "weight", "+8"): sums["offset 8"] / sums["count 8"],
        ("offset_argmax", "share", "-1"): sums["argmax -1"] / queries,
        ("rare_words", "share", "rarest"): sums["rarest"] / sums["rare queries"],
    }
    seen = 0
    for row in found.heads.to_pylist():
        key = (row["analysis"], row["statistic"], row["group"])
        if key in expected and row["head"] is not None:
            value = expected[key][row["layer"], row["head"]]
            tolerance = 2.5 / row["n"] if row["statistic"] == "share" else 1e-5
            assert row["value"] == pytest.approx(value, abs=tolerance), key
            seen += 1
    assert seen == 72 * len(expected)
    assert np.isfinite(sums["mass"]).all()
