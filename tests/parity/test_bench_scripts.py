"""The scripts that the benchmark compares with compute what a scan computes: the race is fair."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bench.clark import clark
from bench.scripts import Sums, padded_batches, sentence_by_sentence

from headscope._util.progress import NoProgress
from headscope.analyses import analyses
from headscope.corpus import read
from headscope.evidence import HEADS
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from headscope.runs import RunResults

TOUR = read("tour")


@pytest.fixture(scope="module")
def scanned(minilm: Model) -> RunResults:
    names = [name for name in analyses() if name not in ("coreference", "frames", "links")]
    settings = Settings(min_count=20)
    return scan(minilm, TOUR, only=names, settings=settings, progress=NoProgress())


@pytest.mark.parametrize("script", ["single", "padded", "clark"])
def test_a_script_equals_a_scan(
    minilm: Model, scanned: RunResults, script: str, tmp_path: Path
) -> None:
    minilm.network.set_attn_implementation("eager")
    try:
        scripts: dict[str, Callable[[], Sums]] = {
            "single": lambda: sentence_by_sentence(minilm, TOUR),
            "padded": lambda: padded_batches(minilm, TOUR, 128, 8),
            "clark": lambda: clark(minilm, TOUR, tmp_path),
        }
        sums = scripts[script]()
    finally:
        minilm.network.set_attn_implementation("sdpa")
    queries = sums["count 0"]
    expected = {
        ("dependencies", "accuracy", "det", "row"): sums["row det"] / sums["cases det"],
        ("dependencies", "accuracy", "obj", "column"): sums["column obj"] / sums["cases obj"],
        ("dependencies", "accuracy", "case", "head-row"): sums["head-row case"]
        / sums["asked case"],
        ("linguistic_features", "largest", "noun", "from all"): sums["feature noun"]
        / sums["texts noun"],
        ("token_to_token", "weight", "verb to subject"): sums["weight verb to subject"]
        / sums["pairs verb to subject"],
        ("token_to_token", "largest", "object to verb"): sums["largest object to verb"]
        / sums["pair texts object to verb"],
        ("focus", "entropy", None): sums["entropy"] / sums["rows"],
        ("focus", "entropy_first", None): sums["first"] / sum(1 for _ in TOUR),
        ("confidence", "largest", None): sums["largest"] / queries,
        ("relative_position", "weight", "-1"): sums["offset -1"] / sums["count -1"],
        ("relative_position", "weight", "+8"): sums["offset 8"] / sums["count 8"],
        ("offset_argmax", "share", "-1"): sums["argmax -1"] / queries,
        ("rare_words", "share", "rarest"): sums["rarest"] / sums["rare queries"],
    }
    seen = 0
    for row in scanned.rows(HEADS):
        key: tuple[str | None, ...] = (row.analysis, row.statistic, row.group)
        key = key if key in expected else (*key, row.direction)
        if key in expected and row.head is not None:
            value = expected[key][row.place]
            counts = row.statistic in ("share", "accuracy")
            tolerance = 2.5 / row.n if counts else 1e-5
            if script == "clark":  # maps in half precision: near ties fall either way
                tolerance = max(0.02 if counts else 1e-3, tolerance)
            assert row.value == pytest.approx(value, abs=tolerance), key
            seen += 1
    assert seen == 72 * len(expected)
    assert np.isfinite(sums["mass"]).all()
