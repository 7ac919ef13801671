"""The checks for plug-ins pass what is well behaved and say what is wrong with what is not."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, cast

import pytest
import torch
from torch import Tensor

from headscope.analyses import Analysis, analyses, analysis, base
from headscope.corpus import Corpus, read
from headscope.evidence import HEADS, Mean, RoleRule, Statistic, Table, Unit
from headscope.experiments.scan import scan
from headscope.model.attention import SELF, Block, Entropy, Kind, Largest, Request, Seen, View
from headscope.model.hooks.tap import Tap
from headscope.testing import check_adapter, check_analysis, tiny_model, tiny_tokenizer
from tests.tiny import network

SMALL = (read("tour", limit=60), read("tour-pairs", limit=12))
WHOLE: tuple[Corpus, ...] = ()
"""By default all tour texts: in fewer, nearly every word is among the 500 most frequent."""
Register = Callable[[type[Analysis]], type[Analysis]]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Registers an analysis for the time of a test."""
    monkeypatch.setattr(base, "_ANALYSES", analyses())
    return analysis("example")


@pytest.mark.parametrize("name", [name for name, kind in analyses().items() if kind.kinds & SELF])
def test_every_analysis_is_well_behaved(name: str) -> None:
    check_analysis(analyses()[name], *(WHOLE if name == "rare_words" else SMALL))


class Sound(Analysis):
    """The largest weight of a row."""

    def make_tallies(self) -> None:
        self.largest = Mean(self.layout)

    def ask(self, view: View) -> dict[str, Request]:
        return {"largest": Largest(view.keys.real, over=view.queries.texts)}

    def statistics(self) -> Iterator[Statistic]:
        yield Statistic.of("largest", self.largest, Unit.SHARE, "the largest weight of a row")


class OfTheBatch(Sound):
    """The largest weight of a row, less where more texts are in the batch."""

    def observe(self, seen: Seen) -> None:
        texts = len(seen.view.queries.pieces)
        self.largest.add(
            seen, seen["largest"] / texts, seen.counts("largest"), seen.uniform("largest")
        )


class OfTheShard(Sound):
    """The largest weight of a row, counted once more for the first text of each shard."""

    def observe(self, seen: Seen) -> None:
        counts = seen.counts("largest")
        if not self.largest.tally.counts[:, seen.site.place].any():
            counts = counts + 1
        self.largest.add(seen, seen["largest"], counts, seen.uniform("largest"))


class Unexplained(Sound):
    def make_tallies(self) -> None:
        super().make_tallies()


class NoShare(Sound):
    """The entropy of rows, called a share."""

    def make_tallies(self) -> None:
        self.entropy = Mean(self.layout)

    def ask(self, view: View) -> dict[str, Request]:
        return {"entropy": Entropy(over=view.queries.texts[..., None].float())}

    def statistics(self) -> Iterator[Statistic]:
        yield Statistic.of("entropy", self.entropy, Unit.SHARE, "entropy of rows")


class RoleOfNothing(Sound):
    """The largest weight of a row, with a role that rests on another number."""

    roles = (RoleRule("confident", "looks at one token", "smallest", 0.9, "this test"),)


class RoleOfNoGroup(Sound):
    """The largest weight of a row, with a role that rests on a group."""

    roles = (
        RoleRule("confident", "looks at it", "largest", 0.9, "this test", groups=("separator",)),
    )


class NoPage(Sound):
    """The largest weight of a row, with a page that is not there."""

    page = "headscope.nowhere"


@dataclass(frozen=True)
class LayerRow:
    """A row of a table of its own."""

    value: float


ROW = Table("largest_of_layers", LayerRow)


class WithTable(Sound):
    """The largest weight of a row, with a table of its own."""

    tables: ClassVar[tuple[Table[Any], ...]] = (ROW,)
    rows: tuple[object, ...] = (LayerRow(1.0),)

    def table_rows(self, corpus: str, weights: str) -> Iterator[object]:
        return iter(self.rows)


class WrongCell(WithTable):
    """The largest weight of a row, with a table of texts that ought to be numbers."""

    rows = (LayerRow(cast(float, "much")),)  # the mistake


class NoTable(WithTable):
    """The largest weight of a row, with rows of a table that is not declared."""

    tables = ()


class TakenTable(WithTable):
    """The largest weight of a row, with a table called like one that every run has."""

    tables = (Table("heads", LayerRow),)


class Nothing(Sound):
    """The largest weight of rows that there are not."""

    def ask(self, view: View) -> dict[str, Request]:
        return {"largest": Largest(view.keys.real, over=view.queries.texts & ~view.queries.real)}


class Failing(Sound):
    """The largest weight of a row, with a mistake in it."""

    def statistics(self) -> Iterator[Statistic]:
        raise IndexError("out of range")


def test_a_sound_analysis_passes(register: Register) -> None:
    check_analysis(register(Sound), *SMALL)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (OfTheBatch, "its numbers depend on how texts are cut into batches"),
        (OfTheShard, "its numbers depend on how texts are cut into shards"),
        (Unexplained, "it has no docstring"),
        (NoShare, r"entropy of L0.H0 is \d.*, which is no share"),
        (RoleOfNothing, "the role confident rests on the unknown statistic 'smallest'"),
        (RoleOfNoGroup, "the role confident rests on unknown groups: separator"),
        (NoPage, "its page does not render"),
        (WrongCell, "a row does not fit the table 'largest_of_layers'"),
        (NoTable, "a row is a LayerRow, for which no table stands"),
        (TakenTable, "a run has a table 'heads' already"),
        (Nothing, "largest of example: there is nothing to count in any of the texts"),
        (Failing, "IndexError in test_testing.py, line .*: out of range"),
    ],
)
def test_what_is_wrong_with_an_analysis_is_said(
    kind: type[Analysis], problem: str, register: Register
) -> None:
    with pytest.raises(AssertionError, match=f"example is not well behaved: .*{problem}"):
        check_analysis(register(kind), *SMALL)


@pytest.mark.parametrize("number", [0, 1])
def test_the_analyses_of_the_documentation_are_well_behaved(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are printed in docs/plugins.md."""
    monkeypatch.setattr(base, "_ANALYSES", analyses())
    printed = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", printed, re.DOTALL)
    code = [block for block in blocks if "@analysis(" in block][number]
    module = ModuleType("printed")
    monkeypatch.setitem(sys.modules, "printed", module)
    exec(code, vars(module))
    (name,) = re.findall(r'@analysis\("(\w+)"\)', code)
    check_analysis(analyses()[name], *SMALL)


def test_an_analysis_is_left_out_of_attention_that_it_is_not_for(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sound, "kinds", frozenset({Kind.DECODER}))
    results = scan(tiny_model("bert"), SMALL[0], only=["focus", register(Sound).name])
    assert results.record.left_out == {"tour": {"example": "it is for decoder attention"}}


class Farthest(Request):
    """(example, head, 1) how far from the first token the largest weight of each row is."""

    over: Tensor

    def __init__(self, over: Tensor) -> None:
        self.over = over

    def begin(self, view: View, heads: int) -> Tensor:
        return torch.zeros(len(self.over), heads, 1)

    def add(self, state: Tensor, block: Block) -> None:
        block.put(state, block.weights.argmax(-1).float(), self.over)

    def baseline(self, view: View) -> Tensor:
        places = torch.arange(view.keys.real.shape[1])[None, :, None].expand(len(self.over), -1, 1)
        means = view.visible.mean(places.float())
        return (means * self.over).sum(1)[:, None]


class LargestPlace(Sound):
    """Where the largest weight of a row is."""

    def ask(self, view: View) -> dict[str, Request]:
        return {"largest": Farthest(view.queries.texts[..., None].float())}


def test_a_request_may_have_a_baseline_of_its_own(register: Register) -> None:
    """The first of an even row would be place 0; a random token is in the middle."""
    results = scan(tiny_model("bert"), SMALL[0], only=[register(LargestPlace).name])
    rows = [row for row in results.rows(HEADS) if row.head is not None]
    assert all(row.baseline is not None and row.baseline > 3 for row in rows)


def test_an_analysis_that_is_not_registered_is_told_how() -> None:
    with pytest.raises(AssertionError, match="it is not registered: put @analysis"):
        check_analysis(Sound)


@pytest.mark.parametrize("family", ["bert", "modernbert", "gpt2"])
def test_families_are_watched_well(family: str) -> None:
    check_adapter(network(family), tiny_tokenizer(decoder=family == "gpt2"))


def test_wrong_weights_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    weigh = Tap.weigh

    def flatter(
        self: Tap, query: Tensor, key: Tensor, scaling: float, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        return weigh(self, query, key, 0.99 * scaling, bias)

    monkeypatch.setattr(Tap, "weigh", flatter)
    with pytest.raises(
        AssertionError, match=r"bert is not watched well: .* watching it changes its output"
    ):
        check_adapter(network("bert"), tiny_tokenizer())


def test_a_head_that_cannot_be_switched_off_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any) -> nullcontext[None]:
        return nullcontext()

    monkeypatch.setattr("headscope.testing.disable", nothing)
    with pytest.raises(AssertionError, match="switching a head off changes nothing"):
        check_adapter(network("bert"), tiny_tokenizer())
