"""What all runs of a model say together: which heads matter, and what is worth doing next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from headscope.evidence.correlation import rank_correlation
from headscope.report.catalogue import load_sections
from headscope.report.sections import (
    SHOWN,
    Cell,
    HeadNumbers,
    NextStep,
    Place,
    Section,
    head_numbers,
    next_steps,
)
from headscope.report.views import RANDOM, CorpusView
from headscope.runs import RunResults

FEWEST = 3
"""Heads below which nothing can be ranked."""


def numbers_of(view: CorpusView, results: list[RunResults]) -> list[HeadNumbers]:
    """The numbers that runs other than the scan have for the heads of a view."""
    load_sections()
    if view.weights == RANDOM:
        return []
    same = [run.of(view.attention) for run in results if run.record.study.is_of(view.model)]
    return [numbers for make in head_numbers.functions for numbers in make(view, same)]


def what_next(results: list[RunResults], most: int = 5) -> list[NextStep]:
    """What is worth doing after some runs, the most telling first, each command once."""
    load_sections()
    steps = [step for make in next_steps.functions for step in make(results)]
    return list({step.command: step for step in reversed(steps)}.values())[::-1][:most]


def what_matters(views: list[CorpusView], results: list[RunResults]) -> Iterator[Section]:
    """For each model that several measures were taken of: do they agree on its heads?"""
    done = set[tuple[str, str]]()
    for view in views:
        known = (view.model.sha256, view.attention)
        measures = [one for one in numbers_of(view, results) if len(one.worth) >= FEWEST]
        if len(measures) > 1 and known not in done:
            done.add(known)
            yield _section(view, measures)


def _section(view: CorpusView, measures: list[HeadNumbers]) -> Section:
    ranks = [_ranks(one) for one in measures]
    heads = sorted(set.intersection(*(set(one) for one in ranks)))
    mean = {head: float(np.mean([one[head] for one in ranks])) for head in heads}
    first = sorted(heads, key=lambda head: mean[head])
    sure = sorted({head for one in measures for head in _sure(one)}, key=lambda head: mean[head])
    named = ", ".join(view.name(head) for head in sure[:SHOWN])
    return Section(
        f"What matters: {view.model.name}{view.results.of_attention}",
        [
            (
                f"Missed for sure when it is off, by a test: {named}."
                if sure
                else "No test says of any single head that it is missed when it is off."
            ),
            *_removed_though_missed(view, measures, sure),
            "Ranks: 1 matters most. A measure that needs no experiment is worth trusting as far as "
            "it agrees with heads really switched off. Bold: a test says that the head is missed.",
        ],
        columns=("head", "mean rank", *(one.title for one in measures)),
        rows=[
            (
                Cell(view.name(head), head=view.name(head)),
                f"{mean[head]:.1f}",
                *(
                    Cell(f"{rank[head]}", strong=head in _sure(one))
                    for one, rank in zip(measures, ranks, strict=True)
                ),
            )
            for head in first
        ],
        below=[
            Section(
                "Do the measures agree?",
                [
                    "Rank correlation over heads, with an interval over layers: heads of one "
                    "layer are alike, so the jackknife leaves out a layer at a time."
                ],
                columns=(
                    "one measure",
                    "another",
                    "Spearman's correlation",
                    "95% interval",
                    "they",
                ),
                rows=[_agreement(one, other) for one, other in combinations(measures, 2)],
            )
        ],
        finding=_finding(view, measures, ranks, sure),
        on_overview=True,
        menu="What matters",
        count=f"{len(sure)} of {len(heads)}",
    )


def _finding(
    view: CorpusView, measures: list[HeadNumbers], ranks: list[dict[Place, int]], sure: list[Place]
) -> str:
    tops = [min(one, key=lambda head: one[head]) for one in ranks]
    named = ", ".join(view.name(head) for head in sure[:3])
    more = f" and {len(sure) - 3} more" if len(sure) > 3 else ""
    missed = f"{named}{more} {'is' if len(sure) == 1 else 'are'} surely missed"
    if not sure:
        missed = "No single head is surely missed"
    if len(set(tops)) == 1:
        return f"{missed}; by all {len(measures)} measures {view.name(tops[0])} matters most"
    first = ", ".join(dict.fromkeys(view.name(top) for top in tops))
    return f"{missed}; {len(measures)} measures disagree on which matters most: {first}"


def _removed_though_missed(
    view: CorpusView, measures: list[HeadNumbers], sure: list[Place]
) -> Iterator[str]:
    for one in measures:
        lost = ", ".join(view.name(head) for head in sure if head in one.removed)
        if lost:
            yield f"Removed from the smaller model although it is missed ({one.task}): {lost}."


def _ranks(numbers: HeadNumbers) -> dict[Place, int]:
    ordered = sorted(numbers.worth, key=lambda head: -numbers.worth[head])
    return {head: place + 1 for place, head in enumerate(ordered)}


def _sure(numbers: HeadNumbers) -> set[Place]:
    """Heads that a test says matter."""
    return {
        head
        for head, worth in numbers.worth.items()
        if numbers.tested and worth > 0 and numbers.rows[head].sure
    }


def _agreement(one: HeadNumbers, other: HeadNumbers) -> tuple[Cell | str, ...]:
    """How far two measures rank heads alike."""
    heads = sorted(one.worth.keys() & other.worth.keys())
    first, second = (np.array([each.worth[head] for head in heads]) for each in (one, other))
    correlation = rank_correlation(first, second, [layer for layer, _ in heads])
    if correlation is None:
        return one.title, other.title, "-", "-", "cannot be compared: one is the same for all heads"
    verdict = "agree" if correlation.value > 0 else "disagree"
    return (
        one.title,
        other.title,
        Cell(f"{correlation.value:+.2f}", strong=correlation.sure),
        correlation.interval,
        verdict if correlation.sure else "are not shown to agree",
    )
