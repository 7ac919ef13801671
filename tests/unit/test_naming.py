"""Names of heads, with and without the kind of attention."""

from __future__ import annotations

import pytest

from headscope._util.naming import head_name, parse_heads
from headscope.errors import HeadscopeError
from headscope.evidence import Layout

COUNTS = (4, 4, 4, 4, 2)
KINDS = ("encoder", "encoder", "decoder", "cross", "cross")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("encoder L1.H3", {1: [3]}),
        ("enc.L1.H3, ENC.L0.H0", {0: [0], 1: [3]}),
        ("cross L1", {4: [0, 1]}),
        (["dec.L0.H2", (3, 1)], {2: [2], 3: [1]}),
    ],
)
def test_kinds_and_layers_are_numbers(names: str, expected: dict[int, list[int]]) -> None:
    assert parse_heads(names, COUNTS, KINDS) == expected


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("L1.H3", "'L1.H3' does not say which attention it is of; write encoder L1.H3 or decoder"),
        ("memory L1.H3", "does not say which attention"),
        ("cross L1.H2", "there is no cross L1.H2: the model has 2 encoder, 1 decoder, 2 cross"),
        ("decoder L1", "there is no decoder L1"),
        ("cross", "'cross' is not a head"),
    ],
)
def test_what_is_not_there_is_refused(names: str, message: str) -> None:
    with pytest.raises(HeadscopeError, match=message):
        parse_heads(names, COUNTS, KINDS)


def test_one_stack_has_no_kinds() -> None:
    with pytest.raises(HeadscopeError, match=r"one stack: write L0.H1, not cross L0.H1"):
        parse_heads("cross L0.H1", (2, 2))


def test_names_can_be_read_again() -> None:
    layout = Layout(1, len(COUNTS), 4, COUNTS, KINDS)
    for layer, head in layout.places:
        kind, number = layout.named(layer)
        assert parse_heads(head_name(number, head, kind), COUNTS, KINDS) == {layer: [head]}
