"""Papers as data files, and what a comparison comes to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headscope.errors import HeadscopeError
from headscope.evidence import HeadRow
from headscope.experiments.reproduce.comparison import compare
from headscope.experiments.reproduce.inputs import CannotReproduceError, Inputs
from headscope.experiments.reproduce.paper import Paper, PublishedNumber, load_paper, papers
from headscope.experiments.reproduce.recipes import clark2019
from headscope.experiments.reproduce.tables import Verdict
from headscope.experiments.reproduce.workbench import Recomputed, recipe_of

PRINTED = {
    "clark2019": 304,
    "kobayashi2020": 96,
    "kovaleva2019": 158,
    "michel2019": 202,
    "voita2019": 297,
}
"""How many numbers the papers print: 1,057."""
NUMBER = PublishedNumber("Table 1", "det", "accuracy", 94.3, "%", "p. 6", tolerance=2.0)


@pytest.fixture(params=PRINTED)
def paper(request: pytest.FixtureRequest) -> Paper:
    return load_paper(request.param)


def test_every_printed_number_is_there_and_is_computed_or_says_why_not(paper: Paper) -> None:
    assert len(paper.numbers) == PRINTED[paper.key]
    for number in paper.everything:
        assert bool(number.cannot) != bool(number.recipe), number
        assert bool(number.recipe) == bool(number.quantity), number
        known = number.source.split()[0].rstrip(";") in paper.sources
        assert known or number.source == "a recollection, in none of the sources", number


def test_every_recipe_is_there_and_names_inputs_of_the_paper(paper: Paper) -> None:
    for name in {number.recipe for number in paper.everything if number.recipe}:
        assert set(recipe_of(paper.key, name).inputs) <= paper.inputs.keys()


def test_at_least_400_printed_numbers_have_a_recipe() -> None:
    numbers = [number for key in papers() for number in load_paper(key).numbers]
    assert len(numbers) == sum(PRINTED.values())
    assert sum(bool(number.recipe) for number in numbers) >= 400


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (Recomputed(94.0), Verdict.AGREES),
        (Recomputed(92.2), Verdict.DIFFERS),
        (Recomputed(92.2, 91.0, 92.4), Verdict.AGREES),
        (Recomputed(98.0, 96.2, 99.0), Verdict.AGREES),
        (Recomputed(98.0, 96.4, 99.0), Verdict.DIFFERS),
        (Recomputed(94.0, apart="why"), Verdict.CANNOT),
        (None, Verdict.CANNOT),
    ],
)
def test_a_number_agrees_within_the_interval_and_the_tolerance(
    ours: Recomputed | None, verdict: Verdict
) -> None:
    row = compare(load_paper("clark2019"), NUMBER, ours, "because")
    assert row.verdict == verdict
    assert row.because == {Verdict.AGREES: ""}.get(
        verdict, "why" if ours and ours.apart else "because"
    )


@pytest.mark.parametrize(
    ("bound", "ours", "verdict"),
    [
        ("at least", Recomputed(97.0), Verdict.AGREES),
        ("at least", Recomputed(90.0, 88.0, 92.0), Verdict.DIFFERS),
        ("at least", Recomputed(90.0, 88.0, 92.4), Verdict.AGREES),
        ("at most", Recomputed(20.0), Verdict.AGREES),
        ("at most", Recomputed(99.0, 97.0, 99.5), Verdict.DIFFERS),
    ],
)
def test_a_limit_agrees_on_its_side(bound: str, ours: Recomputed, verdict: Verdict) -> None:
    number = replace(NUMBER, bound=bound)
    row = compare(load_paper("clark2019"), number, ours, "because")
    assert row.verdict == verdict
    assert row.published == f"{bound} 94.3"


def test_the_name_of_a_head_agrees_where_it_is_the_same() -> None:
    number = replace(NUMBER, value="8-11")
    for label, verdict in (("8-11", Verdict.AGREES), ("7-4", Verdict.DIFFERS)):
        row = compare(load_paper("clark2019"), number, Recomputed(label=label), "because")
        assert (row.verdict, row.difference, row.ours) == (verdict, None, label)


def test_what_does_not_exist_is_said_with_what_does() -> None:
    with pytest.raises(HeadscopeError, match="did you mean 'clark2019'"):
        load_paper("clark2018")
    with pytest.raises(HeadscopeError, match=r"clark2019 has no 'table9'.*table1"):
        load_paper("clark2019").select(["table9"])
    with pytest.raises(
        HeadscopeError, match=r"no input 'treebnak'; it takes treebank \(a treebank"
    ):
        Inputs.of(load_paper("clark2019"), None, {"treebnak": "x"}, None)


def test_an_input_that_is_not_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADSCOPE_DATA", raising=False)
    inputs = Inputs.of(load_paper("clark2019"), None, {"coreference": "tour"}, 10)
    assert inputs.source("coreference") == "tour"
    assert inputs.corpus("coreference").limit == 10
    with pytest.raises(CannotReproduceError, match=r"a treebank .* \(--input treebank=\.\.\.\)"):
        inputs.source("treebank")


def number_of(statistic: str, group: str, layer: int, head: int | None, value: float) -> HeadRow:
    place = ("texts", "trained", "document_means", statistic, group, None)
    return HeadRow(*place, layer, head, value, None, None, 5, None, None, None)


def test_separators_are_means_over_the_middle_layers_of_twelve() -> None:
    rows = [number_of("mass", "[SEP]", layer, None, 0.1 * layer) for layer in range(12)]
    rows += [number_of("mass", "[CLS]", layer, None, 0.9) for layer in range(12)]
    (found,) = clark2019.separators(rows).items()
    assert found[0] == "[SEP] layers 6-10"
    assert found[1].value == pytest.approx(100 * (0.5 + 0.6 + 0.7 + 0.8 + 0.9) / 5)
    assert clark2019.separators(rows[:6]) == {}


def test_neighbours_are_the_largest_of_a_layer_and_those_over_a_half() -> None:
    weights = {(0, 0): 0.2, (0, 1): 0.6, (1, 0): 0.51, (1, 1): 0.5}
    rows = [number_of("near", "next", *head, value) for head, value in weights.items()]
    rows += [number_of("near", "previous", *head, 0.4) for head in weights]
    found = clark2019.neighbours(rows)
    numbers = {name: number.value for name, number in found.items()}
    assert numbers == {
        "next heads": 2,
        "next layer 1": 0.6,
        "next layer 2": 0.51,
        "previous heads": 0,
        "previous layer 1": 0.4,
        "previous layer 2": 0.4,
    }


def test_classes_are_counted_over_their_thresholds() -> None:
    rows = [
        number_of("entropy", "entropy", 0, 0, 3.9),
        number_of("entropy", "entropy", 0, 1, 3.7),
        number_of("entropy", "entropy from [CLS]", 0, 1, 4.0),
        number_of("largest", "", 0, 0, 0.07),
        number_of("largest", "", 0, 1, 0.5),
        number_of("near", "next", 0, 0, 0.51),
        number_of("near", "previous", 0, 0, 0.5),
        number_of("mass", "[SEP]", 0, 0, 0.61),
        number_of("mass", "[SEP]", 0, 1, 0.7),
        number_of("mass", ". or ,", 0, 1, 0.6),
    ]
    numbers = {name: number.value for name, number in clark2019.classes(rows).items()}
    assert numbers == {
        "class broad": 1,
        "class next": 1,
        "class prev": 0,
        "class [CLS]": 0,
        "class [SEP]": 2,
        "class . and ,": 0,
        "broad, largest weight": pytest.approx(7),
    }
