"""A scan as a whole: shards, budgets, cutting, random weights, results in every form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.analyses import base
from headscope.analyses.linguistic_features import (
    GROUPS,
    FeatureOptions,
    LinguisticFeatures,
    features_of,
)
from headscope.corpus import BUCKETS, Budget, Example, Survey, bucket_of, read
from headscope.errors import HeadscopeError, InputError
from headscope.evidence import HEADS, Int32, Layout, Mean, RoleRule, Statistic, Table, Unit
from headscope.experiments.ablation import ablate
from headscope.experiments.scan import scan
from headscope.experiments.scan.reading import shards
from headscope.model import Model
from headscope.model.attention import Band, Mass, Request, View
from headscope.report.head_cards import head_cards
from headscope.report.page import render
from headscope.report.views import views
from headscope.runs import RunResults
from headscope.tasks import task
from tests.pages import page_views
from tests.tiny import tiny
from tests.unit.examples import corpus_of

NEGATION = GROUPS.index("negation")
NUMBERS = ("value", "low", "high", "baseline")
WORDS = [a + b for a in "abcdefghij" for b in "abcdefghij"]


def letters(count: int, seed: int = 0) -> list[Example]:
    rng = np.random.default_rng(seed)
    return [
        Example(f"s{n}", document=f"d{n // 3}", words=tuple(rng.choice(WORDS, rng.integers(1, 30))))
        for n in range(count)
    ]


def numbers(results: RunResults) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    heads = results.table("heads")
    return np.array([heads[name].to_numpy(zero_copy_only=False) for name in NUMBERS], dtype=float)


SHARDS, PER_SHARD = 4, 40


def cut_and_whole(documents: list[list[str]]) -> tuple[RunResults, RunResults]:
    """Scans of the same texts in several shards and in a single one, in the same batches: texts
    of one length are batched alike however they are cut into shards.

    Args:
        documents: of each shard, which its texts take in turn.
    """
    rng = np.random.default_rng(0)
    examples = [
        Example(
            f"s{n}",
            document=documents[n // PER_SHARD][n % len(documents[n // PER_SHARD])],
            words=tuple(rng.choice(WORDS, 8)),
        )
        for n in range(SHARDS * PER_SHARD)
    ]
    model, corpus = tiny("bert"), corpus_of(examples)
    whole = hs.Settings(budget=Budget(tokens=80))  # batches of 8 texts
    cut = replace(whole, shard=PER_SHARD)
    counts = [len(list(shards(model, corpus, settings))) for settings in (cut, whole)]
    assert counts == [SHARDS, 1]
    merged, single = (
        scan(model, corpus, settings=settings, progress=NoProgress()) for settings in (cut, whole)
    )
    assert merged.table("maps").equals(single.table("maps"))
    assert merged.table("heads")["n"].equals(single.table("heads")["n"])
    return merged, single


def test_merged_shards_equal_one_shard() -> None:
    """Documents go on from shard to shard: what they add up to is the same but for rounding."""
    merged, single = cut_and_whole([[f"d{n}" for n in range(20)]] * SHARDS)
    np.testing.assert_allclose(numbers(merged), numbers(single), atol=1e-12, rtol=1e-12)


def test_merged_shards_equal_one_shard_to_the_bit() -> None:
    """No bucket has documents of two shards, so that nothing is rounded when shards are merged."""
    names = [f"d{n}" for n in range(100)]
    merged, single = cut_and_whole(
        [[name for name in names if bucket_of(name) % SHARDS == shard] for shard in range(SHARDS)]
    )
    assert merged.record.corpora[0].buckets > 20
    for name in ("heads", "best", "distances", "families"):
        assert merged.table(name).equals(single.table(name)), name


def test_another_batch_budget_moves_sums_by_less_than_a_millionth() -> None:
    model, corpus = tiny("bert"), corpus_of(letters(90))
    first, *others = (
        numbers(scan(model, corpus, settings=hs.Settings(budget=budget), progress=NoProgress()))
        for budget in (Budget(), Budget(tokens=64), Budget(tokens=100_000, area=1 << 30))
    )
    for other in others:
        np.testing.assert_allclose(first, other, atol=1e-6, rtol=1e-6)


def test_another_shard_size_chooses_the_same_exemplars() -> None:
    model, corpus = tiny("bert"), corpus_of(letters(150))
    whole = scan(model, corpus, progress=NoProgress())
    parts = scan(model, corpus, settings=hs.Settings(shard=16), progress=NoProgress())
    assert whole.table("maps")["example"].equals(parts.table("maps")["example"])
    np.testing.assert_allclose(numbers(whole), numbers(parts), atol=1e-6, rtol=1e-6)


def test_a_shuffled_corpus_gives_the_same_numbers() -> None:
    model, examples = tiny("bert"), letters(60)
    results = scan(model, corpus_of(examples), progress=NoProgress())
    again = scan(model, corpus_of(examples[::-1]), progress=NoProgress())
    np.testing.assert_allclose(numbers(results), numbers(again), atol=1e-6, rtol=1e-6)


def test_cutting_is_asked_for_counted_and_told() -> None:
    model = tiny("bert")
    examples = [*letters(30), Example("long", words=("ab",) * 100)]
    with pytest.raises(InputError, match="example long has 102 pieces and bert takes 62"):
        scan(model, corpus_of(examples), progress=NoProgress())
    said: list[str] = []

    class Listening(NoProgress):
        def say(self, text: str) -> None:
            said.append(text)

    short = hs.Settings(max_length=20)
    results = scan(model, corpus_of(examples), settings=short, progress=Listening())
    (corpus,) = results.record.corpora
    assert corpus.longest == 20
    assert corpus.cut >= 1
    assert corpus.lost >= 82
    assert any("texts are cut to 20 pieces" in text for text in said)
    with pytest.raises(HeadscopeError, match="not between 3 and the 62"):
        scan(model, corpus_of(examples), settings=hs.Settings(max_length=63), progress=NoProgress())


def test_random_weights_stand_beside_trained_ones() -> None:
    results = scan(
        "minilm",
        read("tour", limit=20),
        only=["focus"],
        settings=hs.Settings(random_weights=True),
        progress=NoProgress(),
    )
    shares = {
        weights: results.rows(HEADS, weights=weights, statistic="entropy_relative")[-1].value
        for weights in ("trained", "random")
    }
    assert shares["random"] > 0.99 > shares["trained"]  # untrained heads look everywhere


def test_results_in_every_form(minilm: Model, tmp_path: Path) -> None:
    results = scan(minilm, read("tour", limit=60), progress=NoProgress())
    best = results.best("relative_position", -1)
    assert (best.layer, best.head) == (0, 2)
    assert repr(best).startswith("L0.H2  ")
    assert "attention to the previous token" in repr(results)
    assert "<td>L0.H2</td>" in results._repr_html_()
    frame = results.pandas()
    assert len(frame) == len(results.polars()) == results.table("heads").num_rows
    written = results.csv(tmp_path / "all.csv").read_text(encoding="utf-8")
    assert written.count("\n") == len(frame) + 1
    with pytest.raises(HeadscopeError, match="say which"):
        results.best("relative_position")
    with pytest.raises(HeadscopeError, match="no such number"):
        results.best("relative_position", 99)


def test_an_ablation_prints_and_shows_in_a_notebook(minilm: Model) -> None:
    """`print(hs.ablate(...))` and its `_repr_html_` were empty."""
    results = ablate(minilm, task("tour", limit=24), heads=["L0.H0", "L5"], progress=NoProgress())
    printed, shown = str(results), results._repr_html_()
    for name in ("L0.H0", "L5"):
        assert any(name in line.split() for line in printed.splitlines())
        assert f"<td>{name}</td>" in shown
    title = "Heads off: minilm on tour"
    assert title in printed
    assert title in shown
    assert len(results.pandas("ablation")) == results.table("ablation").num_rows > 0
    with pytest.raises(HeadscopeError, match="no numbers per head"):
        results.best("importance")


def test_few_documents_claim_nothing() -> None:
    examples = [replace(example, document=f"d{n % 5}") for n, example in enumerate(letters(40))]
    results = scan(tiny("bert"), corpus_of(examples), progress=NoProgress())
    heads = results.table("heads")
    assert heads["low"].null_count == heads.num_rows
    assert heads["p"].null_count == heads.num_rows
    assert "(too few documents)" in repr(results)


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


def test_options_that_do_not_exist_get_a_hint() -> None:
    model = tiny("bert")
    with pytest.raises(HeadscopeError, match="no option 'posessive'; did you mean 'possessive'"):
        hs.scan(model, "tour", options={"dependencies": {"posessive": True}})
    with pytest.raises(HeadscopeError, match="did you mean 'dependencies'"):
        hs.scan(model, "tour", options={"dependancies": {"possessive": True}})


def test_two_lists_of_negations_on_one_batch() -> None:
    """The cache of a batch once ignored which words are negations."""
    model = tiny("bert")
    examples = [Example("1", words=("ab", "cd", "ef", "ab")), Example("2", words=("ab", "ef"))]
    batch = model.batch(model.encode(examples))
    for negations, expected in ((("ab",), [[0, 3], [0]]), (("ef",), [[2], [1]])):
        assert [text["negation"] for text in features_of(batch, negations)] == expected
    layout = Layout(BUCKETS, model.layers, model.heads)
    survey = Survey(hs.Settings().conventions)
    both = [
        LinguisticFeatures(layout, survey, FeatureOptions(negations=(word,)))
        for word in ("ab", "ef")
    ]
    with model.watch(*both) as tap:
        tap.forward(batch)
    values = [analysis.largest.tally.ratio()[..., NEGATION] for analysis in both]
    assert np.isfinite(values).all()
    assert (np.abs(values[0] - values[1]) > 1e-4).all()


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Analyses that a test registers are forgotten afterwards, and so is what was made of them."""
    base.analyses()  # those of the package are there before
    monkeypatch.setattr(base, "_ANALYSES", dict(base._ANALYSES))


def test_a_new_analysis_is_one_class(registry: None) -> None:
    """Registering a class is all it takes to appear in the results and in the page."""

    @base.analysis("diagonal")
    class Diagonal(base.Analysis):
        """How much a token looks at itself. A test's own analysis."""

        def make_tallies(self) -> None:
            self.own = Mean(self.layout)

        def ask(self, view: View) -> dict[str, Request]:
            return {"own": Band(0, over=view.tokens.real)}

        def statistics(self) -> Iterator[Statistic]:
            yield Statistic.of("own", self.own, Unit.SHARE, "", headlines={"": "itself"})

    results = scan(tiny("bert"), corpus_of(letters(40)), progress=NoProgress())
    assert results.rows(HEADS, analysis="diagonal")
    assert "A test&#39;s own analysis." in render([results])


@dataclass(frozen=True)
class ReachRow:
    """A row of a test's own table."""

    corpus: str
    weights: str
    layer: Int32
    value: float


REACH = Table("reach", ReachRow)
TOKENS = Unit("tokens", "tokens", ".1f", ".1f", "~f")


def test_an_analysis_with_its_own_unit_table_and_role(registry: None, tmp_path: Path) -> None:
    """It once ended in `KeyError: 'tokens'` after the run had been marked complete."""

    @base.analysis("reach")
    class Reach(base.Analysis):
        """How many tokens a head would look at, were its rows uniform. A test's own analysis."""

        tables = (REACH,)
        roles = (RoleRule("reaching", "reaches {value}", "reach", 0.5, "a test", unit=TOKENS),)

        def make_tallies(self) -> None:
            self.reach = Mean(self.layout, baseline=False)

        def ask(self, view: View) -> dict[str, Request]:
            real = view.tokens.real.float()
            return {"reach": Mass(10 * real[..., None], over=view.tokens.real)}

        def statistics(self) -> Iterator[Statistic]:
            yield Statistic.of("reach", self.reach, TOKENS, "", headlines={"": "reach of a head"})

        def table_rows(self, corpus: str, weights: str) -> Iterator[object]:
            for layer, value in enumerate(self.reach.tally.ratio().mean((1, 2)).tolist()):
                yield ReachRow(corpus, weights, layer, value)

    run = tmp_path / "run"
    written = hs.scan(
        tiny("bert"), corpus_of(letters(60)), out=run, only=["reach"], progress=NoProgress()
    )
    results = hs.open(run)
    assert results.record.status == "complete"
    assert results.rows(REACH) == written.rows(REACH)
    assert [row.value for row in results.rows(REACH)] == pytest.approx([10.0] * 3)
    assert results.record.unit(TOKENS.name) == TOKENS
    assert "10.0" in repr(results.best("reach"))
    (view,) = views([results])
    assert {role.rule.name for role in view.roles} == {"reaching"}
    cards = head_cards(view, [results])
    assert len(cards) == 12
    for card in cards.values():
        assert card.title.endswith(": reaching")
        assert card.lines[0].startswith("Reaches 10.0 [10.0, 10.0]")
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "A test&#39;s own analysis." in page
    assert "reaches 10.0" in page_views(page)[0]["roles"][0]["sentence"]


@pytest.mark.parametrize("name", ["gte-small", "all-mpnet-base-v2"])
def test_real_models_show_what_the_papers_show(models: Path, data: Path, name: str) -> None:
    """Previous- and next-token heads, heads that rest on a special token, broad heads."""
    wsj = read(data / "wsj" / "wsj_0001-0199.sd-basic.conllx.gz", limit=120)
    only = ["focus", "relative_position", "special_tokens"]
    results = scan(hs.load(models / name), wsj, only=only, progress=NoProgress())
    assert results.best("relative_position", -1).value > 0.4
    assert results.best("relative_position", +1).value > 0.4
    special = max(
        results.best("special_tokens", role, direction="from all").value
        for role in ("first", "separator")
    )
    assert special > 0.5
    assert results.best("focus", statistic="entropy_relative").value > 0.85
