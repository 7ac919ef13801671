"""Roles: not a value but the evidence for it passes a threshold; cards say what tables say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from headscope import read, scan
from headscope._util.progress import NoProgress
from headscope.cli.show import role_data
from headscope.evidence import HEADS, HeadRow
from headscope.evidence.interval import benjamini_hochberg
from headscope.experiments.ablation import ablate, effects
from headscope.model import Model
from headscope.report.catalogue import role_rules
from headscope.report.head_cards import head_cards, striking_cards
from headscope.report.head_roles import head_roles, labels
from headscope.report.model_summary import model_summary
from headscope.report.views import views
from headscope.runs import ModelRecord, Record, RunResults, Study
from headscope.tasks import task

MODEL = ModelRecord("tiny", "bert", 1, 60, 62, 0, "", None, "float32")


def row(head: int, value: float, low: float | None) -> HeadRow:
    return HeadRow(
        corpus="made",
        weights="trained",
        analysis="relative_position",
        statistic="weight",
        group="-1",
        direction=None,
        layer=0,
        head=head,
        value=value,
        low=low,
        high=value + 0.02,
        n=9,
        baseline=0.1,
        p=0.001,
        q=0.001,
    )


def results_of(rows: list[HeadRow]) -> RunResults:
    return RunResults(Record(Study(MODEL, {}, {})), {HEADS.name: HEADS.of(rows)})


def heads_with_role(*rows: HeadRow) -> list[int]:
    return [role.place[1] for role in head_roles(results_of(list(rows)), "made")]


def test_a_value_above_the_threshold_is_not_enough() -> None:
    clear = row(0, 0.6, 0.58)
    assert heads_with_role(clear) == [0]
    assert heads_with_role(row(0, 0.6, 0.3)) == []  # it may be below a half
    assert heads_with_role(row(0, 0.49, 0.48)) == []
    assert heads_with_role(row(0, 0.6, None)) == []  # too few documents
    assert heads_with_role(replace(clear, q=0.2)) == []  # not above its baseline
    assert heads_with_role(replace(clear, group="-2")) == []  # no rule asks for it
    assert heads_with_role(replace(clear, weights="random")) == []


def test_the_test_is_corrected_over_all_heads_of_a_rule() -> None:
    alone = row(0, 0.52, 0.498)
    assert heads_with_role(alone) == [0]
    crowd = [row(head, 0.3, 0.28) for head in range(1, 60)]
    assert heads_with_role(alone, *crowd) == []


def test_what_untrained_heads_reach_earns_no_role() -> None:
    clear = row(0, 0.6, 0.58)
    assert heads_with_role(replace(clear, null_low=0.0, null_high=0.4)) == [0]
    assert heads_with_role(replace(clear, null_low=0.0, null_high=0.7)) == []
    assert heads_with_role(replace(clear, p=None, q=None)) == []  # what they reach is not known


def antecedents(gain: float, low: float, *, sure: bool) -> list[HeadRow]:
    """Numbers of one head, and of the three rules that need none."""
    base = replace(row(0, gain, low), analysis="coreference", statistic="gain", group="pronoun")
    base = replace(base, baseline=0.0, n=900)
    accuracy = replace(base, statistic="accuracy", value=0.75 + gain, low=None, baseline=0.75)
    rules = [
        replace(accuracy, statistic=name, value=value, layer=None, head=None, baseline=None)
        for name, value in (("nearest", 0.4), ("head_match", 0.7), ("sieve", 0.75))
    ]
    return [base, replace(accuracy, q=0.001 if sure else 0.2), *rules]


def test_a_coreferent_head_beats_the_strongest_rule_and_says_which() -> None:
    results = results_of(antecedents(0.15, 0.1, sure=True))
    (role,) = head_roles(results, "made")
    assert (role.rule.name, role.beaten) == ("coreferent", "the sieve (75.0%)")
    assert "beats the sieve (75.0%)" in role.sentence
    assert "+15.0 pt" in role.sentence
    assert not head_roles(results_of(antecedents(0.15, 0.1, sure=False)), "made")
    assert not head_roles(results_of(antecedents(0.04, 0.03, sure=True)), "made")


def test_q_is_that_of_the_threshold() -> None:
    numbers = [(0.7, 0.65), (0.56, 0.52), (0.2, 0.1)]
    rows = [row(head, value, low) for head, (value, low) in enumerate(numbers)]
    p = [stats.norm.sf((value - 0.5) / ((value - low) / 1.959964)) for value, low in numbers]
    expected = benjamini_hochberg(np.array(p))
    chances = {role.place[1]: role.q for role in head_roles(results_of(rows), "made")}
    assert chances == {0: pytest.approx(expected[0]), 1: pytest.approx(expected[1])}


def test_rules_have_names_and_sources() -> None:
    rules = [rule for _, rule in role_rules()]
    assert len(rules) > 5
    assert len({rule.name for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.source
        assert "{value}" in rule.words
        assert 0 < rule.threshold < 1


@pytest.fixture(scope="module")
def tour(minilm: Model) -> RunResults:
    only = [
        "relative_position",
        "dependencies",
        "special_tokens",
        "distances",
        "patterns",
        "offset_argmax",
        "focus",
    ]
    return scan(minilm, read("tour"), only=only, progress=NoProgress())


def test_every_sentence_is_true_by_its_row(tour: RunResults) -> None:
    (view,) = views([tour])
    for role in view.roles:
        where = {key: getattr(role.row, key) for key in ("analysis", "statistic", "layer", "head")}
        same = [
            row
            for row in tour.rows(HEADS, **where)
            if (row.group, row.direction) == (role.row.group, role.row.direction)
        ]
        assert [role.row] == same
        assert role.row.value > role.rule.threshold
        shown = f"{100 * role.row.value:.1f}"
        assert shown in role.sentence or role.row.value > 0.9995
        assert role.rule.source in role.sentence


def test_cards_hold_what_other_runs_of_the_model_say(tour: RunResults, minilm: Model) -> None:
    off = ablate(minilm, task("tour", limit=24), heads=None, progress=NoProgress())
    (view,) = views([tour])
    cards = head_cards(view, [tour, off])
    assert len(cards) == 72
    deltas = {row.name: row.delta for row in effects(off, "head")}
    for name, card in cards.items():
        assert sum(line.startswith("Off (uniform)") for line in card.lines) == 1
        assert any(f"{100 * deltas[name]:+.1f} pt" in line for line in card.lines)
        assert any("nearest relative" in line for line in card.lines)
    chosen = striking_cards(view, cards)
    assert len({card.name for card in chosen}) == len(chosen) == 10
    assert all(card.roles for card in chosen)
    assert "L0.H2" in {card.name for card in chosen}  # the previous token's head
    alone = head_cards(view, [tour])
    assert not any("Off" in line for card in alone.values() for line in card.lines)


def test_the_model_in_short_counts_its_roles(tour: RunResults) -> None:
    (view,) = views([tour])
    summary = model_summary(view, [tour])
    assert summary is not None
    places = {role.place for role in view.roles}
    assert summary.text[0].startswith(f"{len(places)} of 72 heads")
    counts = {str(line[0]): int(str(line[1]).split()[0]) for line in summary.rows}
    assert counts
    for name, count in counts.items():
        assert count == len({role.place for role in view.roles if role.rule.name == name})
        assert count == sum(label.name == name for label in labels(view.roles))
    assert len(role_data([tour])) == len(view.roles)
