"""Requests: blocks of any size and whole maps give the same answers; so does a uniform head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from headscope.analyses.linguistic_features import features_of
from headscope.corpus import Example
from headscope.evidence import Layout, Mean
from headscope.model import Batch
from headscope.model.attention import (
    At,
    Band,
    Best,
    Block,
    Entropy,
    Kind,
    Largest,
    LargestFrom,
    Mass,
    Received,
    Request,
    Rows,
    Seen,
    Site,
    View,
    Visible,
    answer,
)
from headscope.model.attention.answers import KNOWN, MapAnswers, Plan
from headscope.model.attention.blocks import visit
from headscope.model.attention.layer import LayerAttention
from tests.tiny import tiny

TEXTS = ["ab cd ef . gh ij kl", "a", "aabbzz cc , dd"]
OTHERS = ["b cd", "aabb zzyy e f g", "x y"]


def batch_of(texts: list[str]) -> Batch:
    model = tiny("bert")
    return model.batch(model.encode([Example(text, text=text) for text in texts]))


def self_view(causal: bool = False) -> View:
    batch = batch_of(TEXTS)
    length = batch.ids.shape[1]
    mask = batch.real[:, None, None].expand(-1, 1, length, -1)
    if causal:
        mask = mask & torch.ones(length, length).tril().bool()
    kind = Kind.DECODER if causal else Kind.ENCODER
    return View(kind, batch, batch, Visible(mask))


def cross_view() -> View:
    queries, keys = batch_of(TEXTS), batch_of(OTHERS)
    mask = keys.real[:, None, None].expand(-1, 1, queries.ids.shape[1], -1)
    return View(Kind.CROSS, queries, keys, Visible(mask))


def maps_of(view: View, heads: int = 2) -> Tensor:
    examples, queries, keys = view.visible.shape
    scores = torch.randn(examples, heads, queries, keys, generator=torch.Generator().manual_seed(3))
    return (scores * 2).masked_fill(~view.visible.mask(), -1e9).softmax(-1)


def requests_of(view: View) -> dict[str, Request]:
    queries, keys = view.queries, view.keys
    groups = torch.stack([queries.real, queries.first], -1)
    columns = torch.stack([keys.first, keys.texts], -1)
    rows = torch.tensor([[0, 1], [2, 3], [2, 1]])
    example, query = rows.unbind(1)
    key = torch.tensor([2, 0, 1])
    number = torch.tensor([0, 1, 1])
    return {
        "entropy": Entropy(),
        "entropy sums": Entropy(over=groups),
        "mass": Mass(columns),
        "mass sums": Mass(columns, over=groups),
        "mass of the mean head": Mass(lambda: columns, together=True),
        "largest": Largest(keys.texts),
        "largest on all": Largest(keys.real),
        "largest sums": Largest(keys.texts, over=queries.texts),
        "largest for some": Largest(keys.texts, queries=queries.first),
        "largest from": LargestFrom(queries.real),
        "received": Received(groups),
        "at": At(example, query, key),
        "at sums": At(example, query, key, into=number),
        "largest at": At(example, query, key, into=number, largest=True),
        "rows": Rows(example, query),
        "rows, cut": Rows(example, query, size=2),
        "whole": Rows.whole(view),
        "some maps, cut": Rows.whole(view, [2, 0], size=3),
    }


def self_requests(view: View) -> dict[str, Request]:
    texts = view.tokens.texts
    return requests_of(view) | {
        "band": Band(2),
        "band on the text": Band(2, keys=texts),
        "band sums": Band(2, over=texts),
        "largest but itself": Largest(texts, itself=False),
    }


def word_requests(view: View) -> dict[str, Request]:
    words = view.queries.words
    return {
        "row": Largest(words, words="mean", queries=words, itself=False),
        "column": LargestFrom(words, words="mean", keys=words, itself=False),
        "row of the first piece": Largest(words, words="first", queries=words, itself=False),
        "diagonals": Band(words.shape[1] - 1, over=words, words="mean", keys=words),
        "entropy": Entropy(over=words, words="mean"),
        "mass": Mass(words[..., None], words="first"),
        "maps": Rows.whole(view, words="mean"),
    }


def blocks_of(view: View, weights: Tensor, size: int) -> Callable[[], list[Block]]:
    """Every text by itself, so many rows at a time."""
    rows = weights.shape[2]

    def blocks() -> list[Block]:
        return [
            Block(view, slice(n, n + 1), start, min(start + size, rows), part)
            for n in range(len(weights))
            for start in range(0, rows, size)
            for part in [weights[n : n + 1, :, start : start + size]]
        ]

    return blocks


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, Best):
        torch.testing.assert_close(one.value, other.value)
        assert torch.equal(one.place, other.place)
    else:
        torch.testing.assert_close(one, other, check_dtype=False)


@pytest.mark.parametrize("size", [1, 3, 99])
@pytest.mark.parametrize("make", [self_view, lambda: self_view(causal=True), cross_view])
def test_blocks_of_any_size_give_the_answers_of_whole_maps(
    make: Callable[[], View], size: int
) -> None:
    view = make()
    weights = maps_of(view)
    requests = requests_of(view) if view.kind is Kind.CROSS else self_requests(view)
    for name, request in requests.items():
        whole = answer(view, weights, request)
        by_rows = visit(request, view, weights.shape[1], blocks_of(view, weights, size))
        try:
            assert_same(whole, by_rows)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


@pytest.mark.parametrize("causal", [False, True])
def test_words_are_answered_as_their_own_maps_would(causal: bool) -> None:
    view = self_view(causal)
    attention = LayerAttention(view, maps_of(view))
    for name, request in word_requests(view).items():
        assert request.words is not None
        fast = answer(view, attention.weights, request)
        block = attention.word_block(request.words)
        slow = visit(request, view, 2, partial(list, [block]))
        try:
            assert_same(fast, slow)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def test_words_of_two_texts() -> None:
    view = cross_view()
    maps = answer(view, maps_of(view), Rows.whole(view, words="mean"))
    assert maps.shape[2:] == (view.queries.words.shape[1], view.keys.words.shape[1])
    units = view.queries.units.to.sum(1) > 0
    torch.testing.assert_close(maps.sum(-1)[:, 0], units.float())
    best = answer(view, maps_of(view), Largest(view.keys.words, words="mean"))
    chosen = (maps * view.keys.words[:, None, None]).max(-1)
    torch.testing.assert_close(best.value, chosen.values)


def test_cross_attention_has_no_offsets() -> None:
    view = cross_view()
    with pytest.raises(TypeError, match="two texts"):
        answer(view, maps_of(view), Band(2))


@pytest.mark.parametrize("causal", [False, True])
def test_a_uniform_head_in_closed_form(causal: bool) -> None:
    view = self_view(causal)

    class Asks:
        def ask(self, view: View) -> dict[str, Request]:
            return self_requests(view)

        def observe(self, seen: Seen) -> None:
            raise AssertionError("nothing was seen")

    plan = Plan(view, [Asks()])
    ((_, asked),) = plan.asked
    count = view.visible.count.double()
    torch.testing.assert_close(plan.uniform(asked["entropy"])[:, 0], count.log())
    sums = plan.uniform(asked["mass sums"])
    assert sums.dtype == torch.float64
    columns = torch.stack([view.keys.first, view.keys.texts], -1).double()
    shares = view.visible.mean(columns) * view.queries.real[..., None]
    torch.testing.assert_close(sums[:, 0, 0], shares.sum(1))
    band = plan.uniform(asked["band sums"])[:, 0, 0]
    near = view.visible.band(2) / count[..., None] * view.tokens.texts[..., None]
    torch.testing.assert_close(band, near.sum(1))
    with pytest.raises(TypeError, match="no single baseline"):
        plan.uniform(asked["mass of the mean head"])


def test_equal_requests_are_answered_once() -> None:
    view = self_view()

    class Asks:
        def ask(self, view: View) -> dict[str, Request]:
            return {"peak": Largest(view.keys.texts.clone()), "other": Largest(view.keys.real)}

        def observe(self, seen: Seen) -> None:
            raise AssertionError("nothing was seen")

    plan = Plan(view, [Asks(), Asks()])
    assert len(plan.unique) == 2
    (_, first), (_, second) = plan.asked
    answers = MapAnswers(plan, LayerAttention(view, maps_of(view)))
    assert answers.answer(first["peak"]) is answers.answer(second["peak"])


@dataclass(eq=False)
class AboveMean(Request):
    """A plug-in's own: how many weights are above the mean of their key over all rows."""

    visits: ClassVar[int] = 2

    def begin(self, view: View, heads: int) -> dict[str, Any]:
        examples, queries, keys = view.visible.shape
        return {
            "sums": torch.zeros(examples, heads, 1, keys),
            "rows": queries,
            "above": torch.zeros(examples, heads),
            "visit": 1,
        }

    def add(self, state: dict[str, Any], block: Block) -> None:
        if state["visit"] == 1:
            state["sums"][block.examples] += block.weights.sum(2, keepdim=True)
        else:
            mean = state["sums"][block.examples] / state["rows"]
            state["above"][block.examples] += (block.weights > mean).sum((2, 3))

    def turn(self, state: dict[str, Any], visit: int) -> None:
        state["visit"] = visit + 1

    def end(self, state: dict[str, Any]) -> Tensor:
        above: Tensor = state["above"]
        return above


@pytest.mark.parametrize("size", [1, 4, 99])
def test_a_request_of_a_plug_in_sees_all_rows_twice(size: int) -> None:
    view = self_view()
    weights = maps_of(view)
    assert AboveMean not in KNOWN
    expected = (weights > weights.mean(2, keepdim=True)).sum((2, 3)).float()
    torch.testing.assert_close(answer(view, weights, AboveMean()), expected)
    by_rows = visit(AboveMean(), view, 2, blocks_of(view, weights, size))
    torch.testing.assert_close(by_rows, expected)


def test_a_subclass_of_a_known_request_is_asked_itself() -> None:
    class Squares(Mass):
        def add(self, state: tuple[Tensor, Tensor], block: Block) -> None:
            keys, store = state
            block.put(store, block.weights**2 @ keys[block.examples, None], self.over)

    view = self_view()
    weights, columns = maps_of(view), view.keys.real[..., None].float()
    expected = (weights**2).sum(-1, keepdim=True) * view.queries.real[:, None, :, None]
    found = answer(view, weights, Squares(columns, over=view.queries.real))
    torch.testing.assert_close(found[:, :, 0], expected.sum(2))


def test_a_mean_takes_what_its_request_gives() -> None:
    view = self_view()
    request = Mass(view.keys.first[..., None], over=view.queries.texts)

    class Asks:
        def ask(self, view: View) -> dict[str, Request]:
            return {"mass": request}

        def observe(self, seen: Seen) -> None:
            raise AssertionError("nothing was seen")

    plan = Plan(view, [Asks()])
    weights = maps_of(view)
    answers = MapAnswers(plan, LayerAttention(view, weights))
    seen = Seen(Site(Kind.ENCODER, 0, 0, 2), view, plan.asked[0][1], answers, plan)
    mean = Mean(Layout(int(view.buckets.max()) + 1, 1, 2))
    mean.add(seen, seen["mass"], seen.counts("mass"), seen.uniform("mass"))
    rows = weights[..., 0].transpose(1, 2)[view.queries.texts]
    torch.testing.assert_close(torch.from_numpy(mean.tally.ratio()[0, :, 0]), rows.double().mean(0))
    assert mean.baseline is not None
    uniform = (1 / view.visible.count.double())[view.queries.texts].mean()
    assert float(mean.baseline.ratio()[0, 0, 0]) == pytest.approx(float(uniform), abs=1e-12)


def windows(length: int, width: int) -> Tensor:
    place = torch.arange(length)
    return (place[:, None] - place).abs() <= width


def test_what_is_visible_row_by_row() -> None:
    view = self_view()
    length = view.tokens.ids.shape[1]
    padding = view.tokens.real[:, None, None]
    triangle = torch.ones(length, length).tril().bool()
    gaps = ~torch.eye(length, dtype=torch.bool)
    values = torch.randn(3, length, 2, dtype=torch.float64)
    for mask in (padding, padding & triangle, padding & windows(length, 2), padding & gaps):
        full = mask.expand(3, 1, length, length)
        visible = Visible(full)
        for example in range(3):
            for query in range(length):
                keys = full[example, 0, query].nonzero()[:, 0]
                assert int(visible.count[example, query]) == max(1, len(keys))
                if len(keys):
                    mean = values[example, keys].mean(0)
                    torch.testing.assert_close(visible.mean(values)[example, query], mean)
                near = [key - query + 2 for key in keys.tolist() if abs(key - query) <= 2]
                assert visible.band(2)[example, query].nonzero()[:, 0].tolist() == near
        if mask.shape[2] > 1 and not bool(mask[0, 0, 1, 1]):
            assert visible.spans is None  # rows have gaps
            continue
        assert visible.spans is not None
        first, end, used = visible.spans
        place = torch.arange(length)
        inside = (place >= first[..., None]) & (place < end[..., None]) & used[:, None]
        assert torch.equal(inside, full[:, 0])


def test_negations_of_another_language_are_not_those_of_the_batch_before() -> None:
    """A cache that forgot its options gave every language the first one's negations."""
    batch = batch_of(["ab cd ef", "cd"])
    own, other = features_of(batch, ("ab",)), features_of(batch, ("cd",))
    assert [text["negation"] for text in own] == [[0], []]
    assert [text["negation"] for text in other] == [[1], [0]]
