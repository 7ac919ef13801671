"""A scan as a whole: shards, budgets, cutting, random weights, results in every form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from headscope.runs.found import Found

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.corpus import Budget, Example, read
from headscope.errors import HeadscopeError, InputError
from headscope.experiments.scan import scan
from headscope.experiments.scan.passes import Options
from headscope.model import Batch, LayerAttention, Model
from tests.tiny import tiny
from tests.unit.examples import corpus_of

NUMBERS = ("value", "low", "high", "baseline")


def letters(count: int, seed: int = 0) -> list[Example]:
    rng = np.random.default_rng(seed)
    words = [a + b for a in "abcdefghij" for b in "abcdefghij"]
    return [
        Example(f"s{n}", document=f"d{n // 3}", words=tuple(rng.choice(words, rng.integers(1, 30))))
        for n in range(count)
    ]


def numbers(found: Found) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array(
        [found.heads[name].to_numpy(zero_copy_only=False) for name in NUMBERS], dtype=float
    )


def test_merged_shards_equal_one_run_to_the_bit() -> None:
    """Shards are whole planned batches: what is merged is what one process would have summed."""
    model, corpus = tiny("bert"), corpus_of(letters(150))
    first, again = (
        scan(model, corpus, options=Options(shard=40), progress=NoProgress()) for _ in range(2)
    )
    assert first.heads.equals(again.heads)
    assert first.maps.equals(again.maps)


def test_another_batch_budget_moves_sums_by_less_than_a_millionth() -> None:
    model, corpus = tiny("bert"), corpus_of(letters(90))
    found = [
        numbers(scan(model, corpus, options=Options(budget=budget), progress=NoProgress()))
        for budget in (Budget(), Budget(tokens=64), Budget(tokens=100_000, area=1 << 30))
    ]
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, atol=1e-6, rtol=1e-6)


def test_another_shard_size_chooses_the_same_exemplars() -> None:
    model, corpus = tiny("bert"), corpus_of(letters(150))
    whole = scan(model, corpus, progress=NoProgress())
    parts = scan(model, corpus, options=Options(shard=16), progress=NoProgress())
    assert whole.maps["example"].equals(parts.maps["example"])
    np.testing.assert_allclose(numbers(whole), numbers(parts), atol=1e-6, rtol=1e-6)


def test_a_shuffled_corpus_gives_the_same_numbers() -> None:
    model, examples = tiny("bert"), letters(60)
    found = scan(model, corpus_of(examples), progress=NoProgress())
    again = scan(model, corpus_of(examples[::-1]), progress=NoProgress())
    np.testing.assert_allclose(numbers(found), numbers(again), atol=1e-6, rtol=1e-6)


def test_cutting_is_asked_for_counted_and_told() -> None:
    model = tiny("bert")
    examples = [*letters(30), Example("long", words=("ab",) * 100)]
    with pytest.raises(InputError, match="example long has 102 pieces and bert takes 62"):
        scan(model, corpus_of(examples), progress=NoProgress())
    said: list[str] = []

    class Listening(NoProgress):
        def say(self, text: str) -> None:
            said.append(text)

    found = scan(model, corpus_of(examples), options=Options(max_length=20), progress=Listening())
    (corpus,) = found.record["corpora"]
    assert corpus["longest"] == 20
    assert corpus["cut"] >= 1
    assert corpus["lost"] >= 82
    assert any("texts are cut to 20 pieces" in text for text in said)
    with pytest.raises(HeadscopeError, match="not between 3 and the 62"):
        scan(model, corpus_of(examples), options=Options(max_length=63), progress=NoProgress())


def test_random_weights_stand_beside_trained_ones() -> None:
    found = scan(
        "minilm",
        read("tour", limit=20),
        only=["focus"],
        options=Options(random_weights=True),
        progress=NoProgress(),
    )
    shares = {}
    for weights in ("trained", "random"):
        rows = found.heads.filter(
            pc.and_(
                pc.equal(found.heads["weights"], weights),
                pc.equal(found.heads["statistic"], "entropy_relative"),
            )
        )
        shares[weights] = rows["value"].to_pylist()[-1]
    assert shares["random"] > 0.99 > shares["trained"]  # untrained heads look everywhere


def test_results_in_every_form(minilm: Model, tmp_path: Path) -> None:
    found = scan(minilm, read("tour", limit=60), progress=NoProgress())
    best = found.best("relative_position", -1)
    assert (best.layer, best.head) == (0, 2)
    assert repr(best).startswith("L0.H2  ")
    assert "attention to the previous token" in repr(found)
    assert "<td>L0.H2</td>" in found._repr_html_()
    frame = found.pandas()
    assert len(frame) == len(found.polars()) == found.heads.num_rows
    written = found.csv(tmp_path / "all.csv").read_text(encoding="utf-8")
    assert written.count("\n") == len(frame) + 1
    with pytest.raises(HeadscopeError, match="say which"):
        found.best("relative_position")
    with pytest.raises(HeadscopeError, match="no such number"):
        found.best("relative_position", 99)


def test_few_documents_claim_nothing() -> None:
    examples = [replace(one, document=f"d{n % 5}") for n, one in enumerate(letters(40))]
    found = scan(tiny("bert"), corpus_of(examples), progress=NoProgress())
    assert found.heads["low"].null_count == found.heads.num_rows
    assert found.heads["p"].null_count == found.heads.num_rows
    assert "(too few documents)" in repr(found)


def test_what_cannot_be_scanned_is_told() -> None:
    model = tiny("bert")
    with pytest.raises(HeadscopeError, match="name at least one corpus"):
        scan(model, progress=NoProgress())
    with pytest.raises(HeadscopeError, match="two corpora are called"):
        scan(model, "tour", "tour", progress=NoProgress())
    with pytest.raises(HeadscopeError, match="no analysis is called 'nonsense'"):
        scan(model, "tour", only=["nonsense"], progress=NoProgress())
    with pytest.raises(InputError, match="no examples with a document like 'x'"):
        scan(model, read("tour", documents="x"), progress=NoProgress())


def test_a_new_analysis_is_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registering a class is all it takes to appear in the results and in the page."""
    from headscope.analyses import base
    from headscope.evidence import Statistic, Tally, Unit
    from headscope.report.page import render
    from headscope.report.views import views

    monkeypatch.setattr(base, "_ANALYSES", dict(base._ANALYSES))

    @base.analysis("diagonal")
    class Diagonal(base.Analysis):
        """How much a token looks at itself. A test's own analysis."""

        def start(self) -> None:
            self.own, self.uniform = Tally(self.shape), Tally(self.shape, heads=1)

        def observe(self, attention: LayerAttention, batch: Batch) -> None:
            counts = batch.real.sum(1)[:, None, None]
            for tally, maps in ((self.own, attention), (self.uniform, attention.uniform)):
                diagonal = maps.weights.diagonal(dim1=2, dim2=3) * batch.real[:, None]
                tally.add(attention.layer, diagonal.sum(-1, keepdim=True), counts, batch.buckets)

        def statistics(self) -> Iterator[Statistic]:
            yield Statistic("own", self.own, self.uniform, Unit.SHARE, "", headlines={"": "itself"})

    found = scan(tiny("bert"), corpus_of(letters(40)), progress=NoProgress())
    assert "diagonal" in found.heads["analysis"].to_pylist()
    page = render(views([found]), [], [found])
    assert "A test&#39;s own analysis." in page


@pytest.mark.parametrize("name", ["gte-small", "all-mpnet-base-v2"])
def test_real_models_show_what_the_papers_show(models: Path, data: Path, name: str) -> None:
    """Previous- and next-token heads, heads that rest on a special token, broad heads."""
    wsj = read(data / "wsj" / "wsj_0001-0199.sd-basic.conllx.gz", limit=120)
    found = scan(hs.load(models / name), wsj, progress=NoProgress())
    assert found.best("relative_position", -1).row["value"] > 0.4
    assert found.best("relative_position", +1).row["value"] > 0.4
    special = max(
        found.best("special_tokens", role, direction="from all").row["value"]
        for role in ("first", "separator")
    )
    assert special > 0.5
    assert found.best("focus", statistic="entropy_relative").row["value"] > 0.85
