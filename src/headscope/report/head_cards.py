"""A card per head: its roles in words with the evidence for them, its relatives, and what other
runs of the same model say of it: change, effect when off, importance, relevance, gates, pruning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headscope._util.naming import head_name
from headscope.analyses._families.section import relatives
from headscope.experiments.ablation.section import VERDICTS, difference_unit
from headscope.experiments.gates.section import lasted
from headscope.report.head_roles import RULES, Role
from headscope.report.numbers import interval, number
from headscope.report.views import View
from headscope.runs import Results, rows_of

Row = dict[str, Any]
Place = tuple[int, int]
STRIKING = 10
"""Cards that are laid out; the others open with a click."""


@dataclass
class Card:
    """What is known of a head.

    Attributes:
        roles: their names; does: sentences on what it does; else: on what other runs say of it.
    """

    place: Place
    roles: list[str] = field(default_factory=list)
    does: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As a head is written."""
        return head_name(*self.place)

    @property
    def title(self) -> str:
        """The head and what it is."""
        return f"{self.name}: {', '.join(self.roles) or 'no role known'}"

    @property
    def lines(self) -> list[str]:
        """All that is known, a sentence each."""
        return [f"{text[0].upper()}{text[1:]}." for text in (*self.does, *self.otherwise)]


def cards(view: View, results: list[Results]) -> dict[str, Card]:
    """The cards of all heads of a view, by name."""
    model = view.model_record
    made = {
        (layer, head): Card((layer, head))
        for layer in range(model["layers"])
        for head in range(model["heads"])
    }
    for role in view.roles:
        card = made[role.place]
        if role.rule.name not in card.roles:
            card.roles.append(role.rule.name)
    for place, texts in _does(view.roles).items():
        made[place].does += texts
    for place, text in [*relatives(view), *_elsewhere(view, results)]:
        made[place].otherwise.append(text)
    return {card.name: card for card in made.values()}


def striking(view: View, known: dict[str, Card]) -> list[Card]:
    """The cards of the most specialised heads: of each role the clearest head, the more telling
    roles first, then of each the next.
    """
    by_rule: dict[str, list[Role]] = defaultdict(list)
    for role in view.roles:
        if all(role.place != other.place for other in by_rule[role.rule.name]):
            by_rule[role.rule.name].append(role)
    chosen: list[str] = []
    for turn in range(max((len(some) for some in by_rule.values()), default=0)):
        for rule in RULES:
            if turn < len(by_rule[rule.name]):
                name = head_name(*by_rule[rule.name][turn].place)
                chosen += [] if name in chosen else [name]
    return [known[name] for name in chosen[:STRIKING]]


def _does(found: list[Role]) -> dict[Place, list[str]]:
    """By head, a sentence a role; of a role that it has several times, the clearest and how many
    more.
    """
    by_head: dict[tuple[Place, str], list[Role]] = defaultdict(list)
    for role in found:
        by_head[role.place, role.rule.name].append(role)
    made: dict[Place, list[str]] = defaultdict(list)
    for (place, _), some in by_head.items():
        more = ", ".join(role.what for role in some[1:4])
        rest = f" and {len(some) - 4} more" if len(some) > 4 else ""
        made[place].append(some[0].sentence + (f"; also {more}{rest}" if more else ""))
    return made


def _elsewhere(view: View, results: list[Results]) -> Iterator[tuple[Place, str]]:
    """What runs of the same model say of its heads."""
    model = view.model_record["sha256"]
    for one in results if view.weights != "random" else ():
        study = one.record["study"]
        models = study.get("models", {"": study["model"]})
        if model not in (each["sha256"] for each in models.values()):
            continue
        yield from _change(one, model)
        yield from _off(one)
        yield from _importance(one)
        yield from _relevance(one)
        yield from _gates(one)
        yield from _pruning(one)


def _change(one: Results, model: str) -> Iterator[tuple[Place, str]]:
    models = one.record["study"].get("models", {})
    sides = {models[name]["sha256"] for name in ("base", "tuned") if name in models}
    for row in rows_of(one.heads, analysis="change") if model in sides else ():
        if row["head"] is not None:
            value = f"{number(row['value'], 'cosine')} {interval(row, 'cosine')}"
            text = (
                f"from {models['base']['name']} to {models['tuned']['name']} its maps on "
                f"{row['corpus']} changed to a cosine of {value}"
            )
            yield (row["layer"], row["head"]), text


def _off(one: Results) -> Iterator[tuple[Place, str]]:
    if not one.ablation.num_rows:
        return
    record = one.record
    intact, study = record["intact"][0], record["study"]
    unit = difference_unit(intact)
    for row in rows_of(one.ablation, metric=intact["metric"], unit="head"):
        moved = f"{number(row['delta'], unit)} {interval(row, unit)}"
        verdict = f"the head {VERDICTS[row['verdict']][0]}"
        text = (
            f"off ({study['options']['how']}), {intact['metric']} on {study['task']['name']} "
            f"changes by {moved} on {row['n']:,} examples: "
            + ("whether it helps is unclear" if row["verdict"] == "unclear" else verdict)
        )
        yield (row["layer"], row["head"]), text


def _importance(one: Results) -> Iterator[tuple[Place, str]]:
    total = one.importance.num_rows
    for row in one.importance.to_pylist():
        text = (
            f"by importance on {row['task']} it is number {row['rank']} of {total} (95%: "
            f"{row['rank_low']} to {row['rank_high']})"
        )
        yield (row["layer"], row["head"]), text


def _relevance(one: Results) -> Iterator[tuple[Place, str]]:
    for row in rows_of(one.heads, analysis="relevance", statistic="share"):
        if row["head"] is not None:
            text = (
                f"{number(row['value'], 'share')} {interval(row, 'share')} of the relevance of all "
                f"heads on {row['corpus']} comes through it (were all alike: "
                f"{number(row['baseline'], 'share')})"
            )
            yield (row["layer"], row["head"]), text


def _gates(one: Results) -> Iterator[tuple[Place, str]]:
    task = one.record["study"].get("task", {}).get("name", "")
    for place, share in lasted(one).items():
        yield place, f"its gate on {task} is open at {share:.0%} of the steps and seeds"


def _pruning(one: Results) -> Iterator[tuple[Place, str]]:
    if "pruned" not in one.record:
        return
    about, task = one.record["pruned"], one.record["study"]["task"]["name"]
    for row in rows_of(one.removals, method=about["method"]):
        name = head_name(row["layer"], row["head"])
        fate = "is removed" if name in about["removed"] else "stays"
        text = (
            f"for {task} it would go as number {row['place'] + 1} of {about['heads']} by "
            f"{about['method']}; with {about['kept']} kept it {fate}"
        )
        yield (row["layer"], row["head"]), text
