"""The texts behind numbers: of a number and a head those where it is highest, usual and lowest."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from headscope.evidence import HeadRow, Unit
from headscope.evidence.example_tables import ArcsRow
from headscope.evidence.role_rule import ANY
from headscope.report.catalogue import role_rules
from headscope.report.numbers import number_key
from headscope.report.views import CorpusView

Json = dict[str, Any]


def examples_of(view: CorpusView, row: HeadRow) -> str | None:
    """Where a table finds the texts behind a number of a head; None if none were kept."""
    key = number_key(row.analysis, row.statistic, row.direction, row.group)
    return f"{row.name}|{key}" if (key, row.name) in view.examples else None


def packed_examples(view: CorpusView) -> Json:
    """All texts of a view once, and what heads do on them, as the script reads it."""
    titles = _titles(view)
    places: dict[str, int] = {}
    texts: list[list[Any]] = []
    numbers: dict[str, Json] = {}
    for (key, head), rows in view.examples.items():
        title, unit = titles.get(key, (key.rpartition("|")[2], None))
        number = numbers.setdefault(key, {"title": title, "heads": defaultdict(list)})
        for row in rows:
            text = [row.example, row.words, row.queries or 0]
            place = places.setdefault(repr(text), len(texts))
            if place == len(texts):
                texts.append(text)
            score = "" if row.score is None or unit is None else unit.number(row.score)
            number["heads"][head].append([place, row.choice, score, *_links(row)])
    return {"texts": texts, "numbers": numbers}


def _links(row: ArcsRow) -> list[Any]:
    """What a head draws: where nothing is annotated, the token that each token looks at most and
    the weight in per cent; otherwise the word in question, what the annotation links it to, the
    head's choice, and whether that is right.
    """
    if not any(row.gold) and len(row.weight) == len(row.drawn):
        return [row.drawn, [round(100 * weight) for weight in row.weight]]
    links = zip(row.source, row.gold, row.drawn, row.right, strict=True)
    return [[[source, gold, drawn, int(right)] for source, gold, drawn, right in links]]


def _titles(view: CorpusView) -> dict[str, tuple[str, Unit]]:
    """By key what a number says and its unit: as a role says it, otherwise as its analysis does."""
    titles: dict[str, tuple[str, Unit]] = {}
    for analysis in view.analyses:
        rules = [rule for name, rule in role_rules() if name == analysis.analysis]
        for one in analysis.statistics:
            unit = view.results.record.unit(one.unit)
            for group in one.groups or [""]:
                words = one.headlines.get(group) or f"{one.about}, {group}".removesuffix(", ")
                for rule in rules:
                    about = group in rule.groups if rule.groups else group not in rule.excluded
                    same = (rule.confirmed_by or rule.statistic) == one.statistic and about
                    if same and rule.titles and rule.direction in (ANY, one.direction):
                        words = rule.title(group, one.direction)
                key = number_key(analysis.analysis, one.statistic, one.direction, group)
                titles[key] = words, unit
    return titles
