"""Word-level maps: rows sum to 1 for any split, with words without pieces and cut texts."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from headscope.corpus import Example, Pieces
from headscope.model.hooks.workspace import Workspace
from headscope.model.words import Units, WordAttention, join_by_text, join_dense, units_of

SPLITS = st.lists(st.integers(0, 4), min_size=1, max_size=8).filter(any)


def pieces_of(splits: list[int], specials: bool, cut: int) -> Pieces:
    """A text whose words have so many pieces; 0: none. `cut`: so many are left of them."""
    inner = [word for word, size in enumerate(splits) for _ in range(size)][: max(cut, 1)]
    word = np.array([-1, *inner, -1] if specials else inner)
    special = word < 0
    ids = np.arange(len(word))
    names = tuple(f"w{place}" for place in range(len(splits)))
    return Pieces(Example("1", words=names), ids, ids * 0, special, word, names)


def maps(examples: int, length: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(examples, 3, length, length, generator=generator).softmax(-1)


def batch(texts: list[Pieces]) -> tuple[Units, torch.Tensor]:
    """The units of padded texts, and maps in which nobody looks at padding."""
    length = max(len(one) for one in texts)
    weights = maps(len(texts), length, 5)
    for row, one in enumerate(texts):
        weights[row, :, :, len(one) :] = 0
    weights /= weights.sum(-1, keepdim=True)
    return units_of(tuple(texts), length, torch.device("cpu")), weights


@given(
    st.lists(SPLITS, min_size=1, max_size=3),
    st.booleans(),
    st.integers(1, 20),
    st.sampled_from(["mean", "first"]),
)
def test_rows_of_a_word_level_map_sum_to_1(
    splits: list[list[int]], specials: bool, cut: int, how: str
) -> None:
    texts = [pieces_of(one, specials, cut) for one in splits]
    units, weights = batch(texts)
    words = WordAttention(weights, units, units, Workspace(), how)
    for row, one in enumerate(texts):
        there = int(one.unit[-1]) + 1
        sums = words.weights[row, :, :there].sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums))
        assert not words.weights[row, :, there:].any()


@given(SPLITS, st.integers(1, 20))
def test_units_are_words_with_pieces_in_order(splits: list[int], cut: int) -> None:
    text = pieces_of(splits, True, cut)
    there = sorted({word for word in text.word.tolist() if word >= 0})
    assert text.place.tolist() == [
        there.index(word) + 1 if word in there else -1 for word in range(len(splits))
    ]
    assert text.words_at(np.array([-1, 0, int(text.unit[-1])])).tolist() == [-1, -1, -1]
    assert text.words_at(text.place[there]).tolist() == there


@given(st.lists(SPLITS, min_size=1, max_size=3))
def test_largest_weights_are_between_different_words(splits: list[list[int]]) -> None:
    texts = [pieces_of(one, True, 20) for one in splits]
    units, weights = batch(texts)
    words = WordAttention(weights, units, units, Workspace())
    for row, one in enumerate(texts):
        inside = one.unit[one.word >= 0]
        for head in range(3):
            a = words.weights[row, head]
            for unit in set(inside.tolist()):
                others = [other for other in set(inside.tolist()) if other != unit]
                best = max(others, key=lambda other: float(a[unit, other]), default=-1)
                back = max(others, key=lambda other: float(a[other, unit]), default=-1)
                assert int(words.row[1][row, head, unit]) == best
                assert int(words.column[1][row, head, unit]) == back
            for distance in range(-3, 4):
                pairs = [
                    (i, i + distance)
                    for i in set(inside.tolist())
                    if distance and i + distance in inside
                ]
                total = sum(float(a[pair]) for pair in pairs)
                assert abs(float(words.diagonals[row, head, distance]) - total) < 1e-5
                counted = units.apart(torch.tensor([row]), torch.tensor([distance]))
                if abs(distance) < units.text.shape[1]:
                    assert int(counted) == len(pairs)


@given(st.lists(SPLITS, min_size=1, max_size=3), st.sampled_from(["mean", "first"]))
def test_long_texts_are_joined_into_the_same_words(splits: list[list[int]], how: str) -> None:
    texts = [pieces_of(one, True, 20) for one in splits]
    units, weights = batch(texts)
    size = units.text.shape[1]
    made = [torch.zeros(len(texts), size, 3, size) for _ in range(2)]
    join_dense(weights, units, units, how, made[0], space=Workspace())
    join_by_text(weights, units, units, how, made[1])
    torch.testing.assert_close(*made)
