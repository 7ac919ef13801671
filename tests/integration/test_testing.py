"""The checks for plug-ins pass what is well behaved and say what is wrong with what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from torch import Tensor

from headscope.analyses import Analysis, analyses, analysis, base
from headscope.corpus import Corpus, read
from headscope.evidence import Mean, RoleRule, Statistic, Unit
from headscope.model.attention import Entropy, Largest, Request, Seen, View
from headscope.model.hooks.tap import Tap
from headscope.testing import check_adapter, check_analysis, tiny_tokenizer
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


@pytest.mark.parametrize("name", analyses())
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
    ],
)
def test_what_is_wrong_with_an_analysis_is_said(
    kind: type[Analysis], problem: str, register: Register
) -> None:
    with pytest.raises(AssertionError, match=f"example is not well behaved: .*{problem}"):
        check_analysis(register(kind), *SMALL)


def test_an_analysis_that_is_not_registered_is_told_how() -> None:
    with pytest.raises(AssertionError, match="it is not registered: put @analysis"):
        check_analysis(Sound)


@pytest.mark.parametrize("family", ["bert", "modernbert", "gpt2"])
def test_families_are_watched_well(family: str) -> None:
    check_adapter(network(family), tiny_tokenizer(decoder=family == "gpt2"))


def test_wrong_weights_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    weigh = Tap.weigh

    def flatter(
        self: Tap, query: Tensor, key: Tensor, scaling: float, biases: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        return weigh(self, query, key, 0.99 * scaling, biases)

    monkeypatch.setattr(Tap, "weigh", flatter)
    with pytest.raises(AssertionError, match="bert is not watched well: weights of layer 0 are"):
        check_adapter(network("bert"), tiny_tokenizer())


def test_a_head_that_cannot_be_switched_off_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any) -> nullcontext[None]:
        return nullcontext()

    monkeypatch.setattr("headscope.testing.disable", nothing)
    with pytest.raises(AssertionError, match="switching a head off changes nothing"):
        check_adapter(network("bert"), tiny_tokenizer())
