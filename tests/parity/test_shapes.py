"""Distances, rollout, value norms and repetition equal their reference implementations."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from transformers import AutoModel, BertConfig

from headscope._util.progress import NoProgress
from headscope.analyses import choose
from headscope.analyses._families.tables import DISTANCES
from headscope.analyses._families.tables import FAMILIES as RELATIVES
from headscope.analyses.distances import chosen_rows
from headscope.analyses.rollout import rollout
from headscope.corpus import Example, repeated_tokens
from headscope.evidence import HEADS, families
from headscope.evidence.compiled import pair_sums
from headscope.evidence.divergence import divergences, plain_sums
from headscope.experiments.scan import scan
from headscope.experiments.scan.plan import make_plans
from headscope.experiments.scan.settings import Settings
from headscope.model import Model, wrap
from headscope.model.attention import MapWatcher, Norms, Request, Seen, View
from headscope.runs import RunResults
from headscope.testing import tiny_tokenizer
from tests.parity.test_analyses import SENTENCES, texts
from tests.tiny import SMALL, tiny
from tests.unit.examples import corpus_of

FAMILIES = ["bert", "gpt2", "modernbert", "mpnet"]
EXAMPLES = [
    Example(str(n), text=text)
    for n, text in enumerate(SENTENCES + [f"{a}b cd {a} ." for a in "abcdefghijkl"])
]


def study(model: Model, *only: str, rows: int = 0) -> RunResults:
    options = {"distances": {"rows": rows}}
    return scan(model, corpus_of(EXAMPLES), only=only, options=options, progress=NoProgress())


def slow_distances(model: Model, rate: float) -> NDArray[np.float64]:
    """(head, head) by scipy, one row of one pair at a time."""
    size = model.layers * model.heads
    total, rows = np.zeros((size, size)), 0
    for example, text in zip(EXAMPLES, texts(model, EXAMPLES), strict=True):
        (pieces,) = model.encode([example])
        maps = text.maps.reshape(size, text.length, text.length)
        for row in chosen_rows(pieces, rate):
            for one, other in combinations(range(size), 2):
                total[one, other] += jensenshannon(maps[one, row], maps[other, row]) ** 2
            rows += 1
    return (total + total.T) / rows


def matrix(results: RunResults, model: Model) -> NDArray[np.float64]:
    size = model.layers * model.heads
    values = np.zeros((size, size))
    for row in results.rows(DISTANCES):
        first = row.layer * model.heads + row.head
        second = row.other_layer * model.heads + row.other_head
        values[first, second] = values[second, first] = row.value
    return values


@pytest.mark.parametrize("family", FAMILIES)
def test_distances(family: str) -> None:
    model = tiny(family)
    results, reference = study(model, "distances"), slow_distances(model, 1)
    np.testing.assert_allclose(matrix(results, model), reference, atol=2e-6)
    layer = np.repeat(np.arange(model.layers), model.heads)
    same = layer[:, None] == layer
    apart = reference[~same].mean() - reference[same & ~np.eye(len(layer), dtype=bool)].mean()
    rows = {(row.statistic, row.layer, row.head): row for row in results.rows(HEADS)}
    assert rows["between_minus_within", None, None].value == pytest.approx(apart, abs=2e-6)
    for head in range(len(layer)):
        row = rows["within_layer", layer[head], head % model.heads]
        others = same[head] & (np.arange(len(layer)) != head)
        assert row.value == pytest.approx(reference[head, others].mean(), abs=2e-6)
        assert row.baseline == pytest.approx(reference[head, ~same[head]].mean(), abs=2e-6)


def test_distances_on_some_rows() -> None:
    model = tiny("bert")
    pieces = sum(len(one) for one in model.encode(EXAMPLES))
    results = study(model, "distances", rows=pieces // 3)
    rate = (pieces // 3) / pieces
    np.testing.assert_allclose(matrix(results, model), slow_distances(model, rate), atol=2e-6)
    taken = sum(len(chosen_rows(one, rate)) for one in model.encode(EXAMPLES))
    assert {row.n for row in results.rows(DISTANCES)} == {taken}
    assert 0 < taken < pieces


def test_compiled_sums_are_the_plain_ones() -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(40, 0.05), size=(30, 70)).astype(np.float32)
    rows[:, :, 5:9] = 0
    rows[3] = 1e-39  # denormal: next to nothing
    flat = torch.from_numpy(rows).flatten(1)
    plain, compiled = plain_sums(flat), pair_sums(flat)
    np.testing.assert_allclose(compiled, plain, rtol=2e-6, atol=1e-5)
    exact = np.zeros((30, 30))
    wide = flat.double().numpy()
    for one in range(30):
        both = wide[one] + wide
        exact[one] = (both * np.log(np.where(both > 0, both, 1))).sum(1)
    np.testing.assert_allclose(compiled, exact, rtol=2e-6, atol=1e-5)


def test_a_head_is_at_no_distance_from_itself() -> None:
    rows = torch.rand(5, 64).softmax(-1)
    rows[1] = rows[0]
    found = divergences(rows)
    assert found[0, 1] == 0
    assert (np.diagonal(found) == 0).all()


def test_layers_that_are_alike_are_found_and_others_are_not() -> None:
    rng = np.random.default_rng(1)
    layer = np.repeat(np.arange(6), 8)
    centres = rng.normal(size=(6, 3)) * 3
    near = centres[layer] + rng.normal(size=(48, 3))
    far = rng.normal(size=(48, 3))
    ps = []
    for points in (near, far):
        apart = ((points[:, None] - points) ** 2).sum(-1)
        ps.append(families.layer_test(apart, layer, shuffles=499).p)
    assert ps[0] < 0.01 < ps[1]


@pytest.mark.parametrize("family", FAMILIES)
def test_rollout(family: str) -> None:
    model = tiny(family)
    results = study(model, "rollout")
    sums: dict[tuple[str, str | None, int | None], list[float]] = {}
    for text in texts(model, EXAMPLES):
        total = np.eye(text.length)
        for layer in range(model.layers):
            mean = sum(text.maps[layer, head] for head in range(model.heads)) / model.heads
            total = (0.5 * mean + 0.5 * np.eye(text.length)) @ total
            for i in range(text.length):
                for j in range(text.length):
                    kind = "other words"
                    if text.punctuation[j]:
                        kind = "punctuation"
                    if text.separator[j]:
                        kind = "separator"
                    if j == 0:
                        kind = "first"
                    if i == j:
                        kind = "itself"
                    ways = ["from all tokens"] + (["from the first token"] if i == 0 else [])
                    for way in ways:
                        sums.setdefault((way, kind, layer), []).append(total[i, j])
        np.testing.assert_allclose(rollout(text.maps.astype(np.float32))[-1], total, atol=1e-6)
    counts = {
        "from all tokens": sum(text.length for text in texts(model, EXAMPLES)),
        "from the first token": len(EXAMPLES),
    }
    rows = [row for row in results.rows(HEADS) if row.layer is not None]
    assert rows
    for row in rows:
        assert row.head is None
        assert row.direction is not None
        total_mass = sum(sums.get((row.direction, row.group, row.layer), []))
        assert row.value == pytest.approx(total_mass / counts[row.direction], abs=2e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_value_norms(family: str) -> None:
    model = tiny(family)
    results = study(model, "value_norms")
    shares: dict[tuple[str | None, int, int], list[float]] = {}
    for example, text in zip(EXAMPLES, texts(model, EXAMPLES), strict=True):
        norms: list[NDArray[np.float32]] = []

        class Watcher:
            into = norms

            def ask(self, view: View) -> dict[str, Request]:
                return {"norms": Norms()}

            def observe(self, seen: Seen) -> None:
                self.into.append(seen["norms"][0].numpy().copy())

        with model.watch(Watcher()) as tap:
            tap.forward(model.batch(model.encode([example])))
        for layer, one in enumerate(norms):
            for head in range(model.heads):
                for j in range(text.length):
                    role = "punctuation" if text.punctuation[j] else "other"
                    role = "separator" if text.separator[j] else role
                    role = "first" if j == 0 else role
                    share = one[head, j] / one[head].mean()
                    shares.setdefault((role, layer, head), []).append(float(share))
    for row in results.rows(HEADS):
        if row.head is not None:
            of_role = shares[row.group, *row.place]
            assert row.value == pytest.approx(np.mean(of_role), rel=1e-4)
            assert row.n == len(of_role)
            assert row.baseline == 1


def test_repetition() -> None:
    model = tiny("gpt2")
    results = study(model, "repetition")
    weights: dict[tuple[str | None, int, int], list[float]] = {}
    every = 0
    for pieces in repeated_tokens(model.tokenizer, model.max_length):
        maps: list[NDArray[np.float32]] = []

        def keep(_: Seen, weights: torch.Tensor, into: list[NDArray[np.float32]] = maps) -> None:
            into.append(weights[0].numpy().copy())

        with model.watch(MapWatcher(keep)) as tap:
            tap.forward(model.batch([pieces]))
        ids = pieces.ids.tolist()
        every += len(ids)
        for i in range(len(ids)):
            places = {"first": [0], "previous": [i - 1] if i else []}
            places["duplicate"] = [j for j in range(i) if ids[j] == ids[i]]
            places["induction"] = [j + 1 for j in places["duplicate"]]
            for name, keys in places.items():
                for layer, one in enumerate(maps):
                    for head in range(model.heads):
                        key = (name, layer, head)
                        weights.setdefault(key, []).extend(float(one[head, i, j]) for j in keys)
    seen = 0
    for row in results.rows(HEADS):
        if row.head is not None:
            assert row.corpus == "repeated tokens"
            of_place = weights[row.group, *row.place]
            count = len(of_place) if row.statistic == "weight" else every
            assert row.n == count
            assert row.value == pytest.approx(sum(of_place) / count, abs=1e-6)
            seen += 1
    assert seen == 2 * 4 * model.layers * model.heads


def test_an_encoder_has_no_repetition() -> None:
    results = study(tiny("bert"), "repetition", "rollout")
    assert results.record.left_out["made"] == {"repetition": "it is for decoders"}


@pytest.mark.parametrize("small", [{"num_hidden_layers": 1}, {"num_attention_heads": 1}])
def test_a_model_of_one_layer_or_one_head_has_no_families(
    small: dict[str, int], tmp_path: Path
) -> None:
    config = BertConfig(**(SMALL | small))
    torch.manual_seed(1)
    model = wrap(AutoModel.from_config(config).eval(), tiny_tokenizer(), "small")
    examples = [Example(str(n), text=text) for n, text in enumerate(SENTENCES)]
    results = scan(model, corpus_of(examples), progress=NoProgress())
    assert results.rows(RELATIVES) == []
    assert results.rows(DISTANCES) == []
    assert "small" in results.report(tmp_path / "report.html").read_text(encoding="utf-8")


def test_repeated_tokens_keep_to_the_length_that_is_asked_for() -> None:
    model = tiny("gpt2")
    examples = corpus_of([Example("1", text="ab cd ef gh")])
    settings = Settings(max_length=20)
    plans = make_plans(model, [examples], choose(["repetition"]), settings, NoProgress())
    longest = max(len(one) for one in repeated_tokens(model.tokenizer, 20, 0))
    assert plans[-1].parts[0].survey.longest == longest <= 20
