"""Patterns: the features of a padded batch are those of one map at a time, told slowly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from labelling.draw import read_maps
from labelling.fresh import SECOND, read_fresh
from numpy.typing import NDArray

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.analyses._shapes.classifier import SHAPES, classifier
from headscope.analyses._shapes.counterparts import counterpart_features
from headscope.analyses._shapes.features import COLUMNS, COUNTS, FAINTEST, features
from headscope.analyses._shapes.tokens import NEAR, Tokens
from headscope.corpus import Example, read
from headscope.errors import HeadscopeError
from headscope.evidence import HEADS
from headscope.model import Batch, Model, reinitialise
from headscope.model.attention import MapWatcher, Seen
from headscope.model.hooks.workspace import Workspace
from tests.tiny import tiny, tiny_that_knows_nothing
from tests.unit.examples import corpus_of

PAIRS = [
    Example("1", text="ab cd ef . gh", pair="ab ef gh"),
    Example("2", text="kaka lele gaga . dada", pair="kaka gaga dada lele , fa fa fa"),
    Example("3", text="a b"),
    Example("5", text="", pair="ab cd ef gh"),
    Example("4", text="dededede fa , fa fa fa fa fa fa fa fa fa fa fa fa ga ha ."),
]


TIE = 1e-5
"""Ink that differs by a smaller share is a tie: rounding decides whether it passes a threshold."""


def slow(map_of: NDArray[np.float64], sentence: list[int], slack: float = 1.0) -> dict[str, float]:
    """At least one feature of every kind once more, a cell at a time.

    Args:
        slack: by which the threshold of `line_2` is multiplied.
    """
    size = len(map_of)
    ink = np.sqrt(map_of)
    rows = [i for i in range(size) if sentence[i] >= 0]
    largest = {i: max(ink[i]) for i in rows}
    dark = max(FAINTEST, sum(largest.values()) / len(rows))
    column: dict[int, int] = {}
    counted: dict[int, list[int]] = {}
    common: dict[int, list[float]] = {}
    for which in (0, 1):
        mine = [i for i in rows if sentence[i] == which]
        if mine:
            means = [sum(ink[i, j] for i in mine) / len(mine) for j in range(size)]
            column |= dict.fromkeys(mine, int(np.argmax(means)))
            best = sorted(range(size), key=lambda j: -means[j])[:COLUMNS]
            many = [j for j in best if means[j] >= COUNTS * means[best[0]]]
            counted |= dict.fromkeys(mine, many)
            common |= dict.fromkeys(mine, means)
    rest = {}
    for i in rows:
        others = [ink[i, j] for j in range(size) if sentence[j] >= 0 and j != column[i]]
        rest[i] = sum(others) / size

    def share(part: float, ink_and_base: list[tuple[float, float]]) -> float:
        """How many rows have more ink than a part of something, a tenth more or less."""
        times = [ink / (part * (base + 1e-4)) for ink, base in ink_and_base]
        return sum(min(1.0, max(0.0, 0.5 + (time - 1) / 0.2)) for time in times) / len(rows)

    def mean(values: Callable[[int], float]) -> float:
        return sum(values(i) for i in rows) / len(rows)

    def apart(i: int, offset: int) -> float:
        """The ink at an offset, columns that count wiped out."""
        j = i + offset
        return 0.0 if not 0 <= j < size or j in counted[i] else float(ink[i, j])

    def near(i: int) -> float:
        return max(apart(i, offset) for offset in range(-NEAR, NEAR + 1))

    def elsewhere(i: int) -> float:
        far = [ink[i, j] for j in range(size) if abs(i - j) > NEAR and j not in counted[i]]
        return float(max(far, default=0.0))

    def explained(i: int) -> float:
        columns = sum(ink[i, j] ** 2 for j in counted[i])
        return float(columns + sum(apart(i, offset) ** 2 for offset in range(-NEAR, NEAR + 1)))

    def level(i: int, own: bool) -> float:
        keys = [j for j in rows if (sentence[j] == sentence[i]) is own]
        return float(sum(ink[i, j] for j in keys)) / max(1, len(keys))

    def block(i: int) -> float:
        return float(np.log((level(i, True) + 0.01) / (level(i, False) + 0.01)))

    def over_even(level: float) -> float:
        """The weight of a place of which all rows have so much ink, above an even map's."""
        return max(0.0, level**2 - 1 / size)

    whole = [float(sum(ink[i, j] for i in rows)) / len(rows) for j in range(size)]
    lines = {
        offset: sum(apart(i, offset) / largest[i] for i in rows) / len(rows)
        for offset in range(-NEAR, NEAR + 1)
    }
    plain = {offset: sum(apart(i, offset) for i in rows) / len(rows) for offset in lines}
    sentences = [[i for i in rows if sentence[i] == which] for which in (0, 1)]
    pair = all(sentences)
    blocks = [sum(block(i) for i in mine) / len(mine) for mine in sentences] if pair else [0.0]
    known = {i: max(near(i), *(ink[i, j] for j in counted[i])) for i in rows}
    return {
        "columns": mean(lambda i: max(ink[i, j] for j in counted[i]) / largest[i]),
        "column_weight": mean(lambda i: sum(ink[i, j] ** 2 for j in counted[i])),
        "many_columns": sum(one >= COUNTS * max(whole) for one in whole) / size,
        "profile_1": sorted(whole)[-2] / dark,
        "block": min(blocks),
        "block_most": max(blocks),
        "filled": mean(lambda i: level(i, True)) / dark,
        "crossed": mean(lambda i: level(i, False)) / dark if pair else 0.0,
        "left": mean(lambda i: max(ink[i, j] - common[i][j] for j in range(size)) / largest[i]),
        "line": max(lines.values()),
        "itself": lines[0],
        "beside": max(lines[-1], lines[1]),
        "two_away": max(lines[-2], lines[2]),
        "three_away": max(lines[-3], lines[3]),
        "line_2": max(
            sum(apart(i, offset) >= slack * max(2 * rest[i], 0.1) for i in rows) / len(rows)
            for offset in lines
        ),
        "near": mean(lambda i: near(i) / largest[i]),
        "near_half": share(0.5, [(near(i), largest[i]) for i in rows]),
        "else": mean(lambda i: elsewhere(i) / largest[i]),
        "else_0.8": share(0.8, [(elsewhere(i), known[i]) for i in rows]),
        "else_weight": mean(lambda i: max(0.0, 1 - explained(i))),
        "even": mean(lambda i: sum(ink[i, j] for j in rows)) / len(rows) ** 0.5,
        "column": sum(ink[i, column[i]] / largest[i] for i in rows) / len(rows),
        "column_2": share(2, [(ink[i, column[i]], rest[i]) for i in rows]),
        "column_half": share(0.5, [(ink[i, column[i]], largest[i]) for i in rows]),
        "column_dark": share(0.5, [(ink[i, column[i]], dark) for i in rows]),
        "dark_0": max(sum(ink[i, j] >= dark / 2 for i in rows) / len(rows) for j in range(size)),
        "rows_alike": sum((sum(ink[i, j] for i in rows) / len(rows)) ** 2 for j in range(size)),
        "largest_of_all": max(largest.values()),
        "length": float(np.log(size)),
        "column_share": mean(lambda i: sum(over_even(common[i][j]) for j in range(size))),
        "column_share_of_all": sum(over_even(one) for one in whole),
        "column_share_first": max(over_even(one) for one in whole),
        "line_share": sum(over_even(one) for one in plain.values()),
        "line_share_first": max(over_even(one) for one in plain.values()),
    }


def watched(model: Model, examples: list[Example]) -> list[tuple[Batch, torch.Tensor]]:
    layers = []

    def keep(seen: Seen, maps: torch.Tensor) -> None:
        layers.append((seen.view.tokens, maps.clone()))

    with model.watch(MapWatcher(keep)) as tap:
        tap.forward(model.batch(model.encode(examples)))
    return layers


def close(one: torch.Tensor, other: torch.Tensor, name: str) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.parametrize("family", ["bert", "gpt2", "mpnet"])
def test_features_of_a_batch_are_those_of_one_map(family: str) -> None:
    model, space = tiny(family), Workspace()  # as in a scan: layers share their memory
    for batch, weights in watched(model, PAIRS):
        told = Tokens(batch.real, batch.texts, batch.second)
        together = features(weights, told, space)
        counterparts = counterpart_features(weights, told, batch.ids, Workspace())
        for place, pieces in enumerate(batch.pieces):
            size = len(pieces)
            one = weights[place : place + 1, :, :size, :size].contiguous()
            part = Tokens(
                *(
                    mask[place : place + 1, :size]
                    for mask in (batch.real, batch.texts, batch.second)
                )
            )
            alone = features(one, part, Workspace())
            for name, values in alone.items():
                close(together[name][place], values[0], name)
            lone = counterpart_features(one, part, batch.ids[place : place + 1, :size], Workspace())
            for name, values in lone.items():
                close(counterparts[name][place], values[0], name)
            sentence = np.where(pieces.special, -1, pieces.second).tolist()
            for head in range(model.heads):
                reference = slow(one[0, head].double().numpy(), sentence)
                for name, value in reference.items():
                    if name != "line_2":
                        assert float(alone[name][0, head]) == pytest.approx(value, abs=1e-4), name
                counted = float(alone["line_2"][0, head])  # ties may round to either side
                ends = [slow(one[0, head].double().numpy(), sentence, 1 + e) for e in (TIE, -TIE)]
                assert ends[0]["line_2"] - 1e-4 <= counted <= ends[1]["line_2"] + 1e-4


def test_shares_of_a_scan_are_those_of_single_maps(minilm: Model) -> None:
    corpus = read("tour-pairs", limit=30)
    results = hs.scan(minilm, corpus, only=["patterns"], progress=NoProgress())
    shares = {
        (*row.place, row.group): row.value
        for row in results.rows(HEADS)
        if row.statistic == "shape" and row.head is not None
    }
    matching = {
        row.place: row.value
        for row in results.rows(HEADS)
        if row.statistic == "matching" and row.head is not None
    }
    seen = [[layer for _, layer in watched(minilm, [one])] for one in corpus]
    pieces = minilm.encode(list(corpus))
    for layer, head in ((0, 2), (1, 1), (2, 8), (5, 0)):
        told = [
            hs.classify(
                maps[layer][0, head],
                np.where(one.special, -1, one.second).tolist(),
                one.ids.tolist(),
            )
            for maps, one in zip(seen, pieces, strict=True)
        ]
        for shape in SHAPES:
            share = np.mean([one.name == shape for one in told])
            assert shares[layer, head, shape] == pytest.approx(share)
        flagged = [one.matching is not None and one.matching > 0.5 for one in told]
        assert matching[layer, head] == pytest.approx(np.mean(flagged))


def test_shapes_that_nobody_doubts() -> None:
    size = 24
    even = np.full((size, size), 1 / size)
    column, diagonal = np.full((2, size, size), 0.2 / (size - 1))
    column[:, 0] = 0.8
    np.fill_diagonal(diagonal, 0.8)
    both = (column + diagonal) / 2
    special = [-1] + [0] * (size - 2) + [-1]
    assert hs.classify(column, special).name == "vertical"
    assert hs.classify(diagonal, special).name == "diagonal"
    assert hs.classify(both, special).name == "vertical+diagonal"
    assert hs.classify(even, special).name == "heterogeneous"
    sentence = [-1] + [0] * 10 + [-1] + [1] * 11 + [-1]
    block = np.full((size, size), 1e-4)
    for which in (0, 1):
        mine = np.array(sentence) == which
        block[np.ix_(mine, mine)] = 1
    block[np.array(sentence) < 0] = 1
    block /= block.sum(1, keepdims=True)
    assert hs.classify(block, sentence).name == "block"


def test_counterparts_that_look_at_each_other() -> None:
    sentence = [-1] + [0] * 8 + [-1] + [1] * 8 + [-1]
    tokens = [100, *range(8), 101, *range(8), 101]
    size = len(tokens)
    weights = np.full((size, size), 0.2 / size)
    for i, token in enumerate(tokens):
        counterpart = next((j for j in range(size) if j != i and tokens[j] == token), i)
        weights[i, counterpart] += 0.8
    shape = hs.classify(weights / weights.sum(1, keepdims=True), sentence, tokens)
    assert shape.matching is not None
    assert shape.matching > 0.9
    assert hs.classify(np.full((8, 8), 1 / 8), tokens=list(range(8))).matching is None


def test_what_is_no_map_is_refused() -> None:
    with pytest.raises(HeadscopeError, match="square"):
        hs.classify(np.ones((3, 4)) / 4)
    with pytest.raises(HeadscopeError, match="sum to 1"):
        hs.classify(np.ones((4, 4)))


def test_the_classifier_knows_what_it_was_taught() -> None:
    """Not how good it is (see `labelling.train`): whether weights and features belong together."""
    _, shown = read_maps()
    pairs = [(read_fresh(one), read_fresh(other)) for one, other in SECOND.items()]
    right = [
        hs.classify(shown[number].weights, shown[number].sentence.tolist()).name == label.shape
        for first, second in pairs
        for number, label in list(first.items())[::3]
        if label.shape == second[number].shape
    ]
    assert np.mean(right) > 0.9
    assert set(classifier().tensors) >= {"shape in", "shape out", "matching in"}


def test_a_model_that_knows_nothing_has_no_shapes() -> None:
    model = tiny_that_knows_nothing()
    texts = [Example(str(n), text=f"{a}b cd ef gh ab dc fe hg .") for n, a in enumerate("abcdef")]
    results = hs.scan(model, corpus_of(texts), only=["patterns"], progress=NoProgress())
    rows = [row for row in results.rows(HEADS) if row.head is not None]
    assert all(row.value == (row.group == "heterogeneous") for row in rows)


def test_random_weights_have_no_shapes(minilm: Model) -> None:
    """Maps unlike any that were labelled: faint, and everywhere."""
    lines = [" ".join(one.words) for one in read("tour")]
    many = 3  # sentences of the length that newspapers have
    texts = [
        Example(str(at), text=" ".join(lines[at : at + many])) for at in range(0, len(lines), many)
    ]
    model = reinitialise(minilm)
    results = hs.scan(
        model, corpus_of([*read("tour"), *texts]), only=["patterns"], progress=NoProgress()
    )
    whole = {
        row.group: row.value
        for row in results.rows(HEADS)
        if row.statistic == "shape" and row.layer is None
    }
    assert whole["heterogeneous"] > 0.98
