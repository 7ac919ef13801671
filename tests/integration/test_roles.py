"""Roles: not a value but the evidence for it passes a threshold; cards say what tables say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headscope.runs.found import Found
from scipy import stats

from headscope import read, scan
from headscope._util.progress import NoProgress
from headscope.cli.show import role_data
from headscope.evidence.interval import benjamini_hochberg
from headscope.experiments.ablation import ablate
from headscope.experiments.scan.passes import Options
from headscope.model import Model
from headscope.report.head_cards import cards, striking
from headscope.report.head_roles import RULES, labelled, roles
from headscope.report.model_summary import portrait
from headscope.report.views import views
from headscope.runs import Results, rows_of
from headscope.runs.results import HEADS
from headscope.tasks import task


def row(head: int, value: float, low: float | None, **more: Any) -> dict[str, Any]:
    return {
        "corpus": "made", "weights": "trained", "analysis": "relative_position",
        "statistic": "weight", "group": "-1", "direction": None, "layer": 0, "head": head,
        "value": value, "low": low, "high": value + 0.02, "n": 9, "baseline": 0.1, "p": 0.001,
        "q": 0.001,
    } | more  # fmt: skip


def found(rows: list[dict[str, Any]]) -> Results:
    return Results({"corpora": []}, pa.Table.from_pylist(rows, schema=HEADS))


def named(rows: list[dict[str, Any]]) -> list[int]:
    return [role.place[1] for role in roles(found(rows), "made")]


def test_a_value_above_the_threshold_is_not_enough() -> None:
    assert named([row(0, 0.6, 0.58)]) == [0]
    assert named([row(0, 0.6, 0.3)]) == []  # it may be below a half
    assert named([row(0, 0.49, 0.48)]) == []
    assert named([row(0, 0.6, None)]) == []  # too few documents
    assert named([row(0, 0.6, 0.58, q=0.2)]) == []  # not above its baseline
    assert named([row(0, 0.6, 0.58, group="-2")]) == []  # no rule asks for it
    assert named([row(0, 0.6, 0.58, weights="random")]) == []


def test_the_test_is_corrected_over_all_heads_of_a_rule() -> None:
    alone = row(0, 0.52, 0.498)
    assert named([alone]) == [0]
    crowd = [row(head, 0.3, 0.28) for head in range(1, 60)]
    assert named([alone, *crowd]) == []


def test_q_is_that_of_the_threshold() -> None:
    rows = [row(0, 0.7, 0.65), row(1, 0.56, 0.52), row(2, 0.2, 0.1)]
    errors = [(one["value"] - one["low"]) / 1.959964 for one in rows]
    p = [stats.norm.sf((one["value"] - 0.5) / e) for one, e in zip(rows, errors, strict=True)]
    expected = benjamini_hochberg(np.array(p))
    told = {role.place[1]: role.q for role in roles(found(rows), "made")}
    assert told == {0: pytest.approx(expected[0]), 1: pytest.approx(expected[1])}


def test_rules_have_names_and_sources() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.source
        assert "{value}" in rule.words
        assert 0 < rule.threshold < 1


@pytest.fixture(scope="module")
def tour(minilm: Model) -> Found:
    only = ["relative_position", "dependencies", "special_tokens", "distances", "patterns",
            "offset_argmax", "focus"]  # fmt: skip
    return scan(minilm, read("tour"), only=only, options=Options(), progress=NoProgress())


def test_every_sentence_is_true_by_its_row(tour: Found) -> None:
    (view,) = views([tour])
    for role in view.roles:
        where = {key: role.row[key] for key in ("analysis", "statistic", "layer", "head")}
        same = [one for one in rows_of(tour.heads, **where) if one["group"] == role.row["group"]
                and one["direction"] == role.row["direction"]]  # fmt: skip
        assert [role.row] == same
        assert role.row["value"] > role.rule.threshold
        shown = f"{100 * role.row['value']:.1f}"
        assert shown in role.sentence or role.row["value"] > 0.9995
        assert role.rule.source in role.sentence


def test_cards_hold_what_other_runs_of_the_model_say(tour: Found, minilm: Model) -> None:
    off = ablate(minilm, task("tour", limit=24), heads=None, progress=NoProgress())
    (view,) = views([tour])
    made = cards(view, [tour, off])
    assert len(made) == 72
    effects = {one["name"]: one for one in off.effects("head")}
    for name, card in made.items():
        assert sum(line.startswith("Off (uniform)") for line in card.lines) == 1
        assert any(f"{100 * effects[name]['delta']:+.1f} pt" in line for line in card.lines)
        assert any("nearest relative" in line for line in card.lines)
    chosen = striking(view, made)
    assert len({card.name for card in chosen}) == len(chosen) == 10
    assert all(card.roles for card in chosen)
    assert "L0.H2" in {card.name for card in chosen}  # the previous token's head
    assert not any("Off" in line for card in cards(view, [tour]).values() for line in card.lines)


def test_the_model_in_short_counts_its_roles(tour: Found) -> None:
    (view,) = views([tour])
    told = portrait(view, [tour])
    assert told is not None
    places = {role.place for role in view.roles}
    assert told.text[0].startswith(f"{len(places)} of 72 heads")
    counts = {line[0]: int(line[1].split()[0]) for line in told.rows}
    for name, count in counts.items():
        assert count == len({role.place for role in view.roles if role.rule.name == name})
        assert count == sum(label.name == name for label in labelled(view.roles))
    assert len(role_data([tour])) == len(view.roles)
