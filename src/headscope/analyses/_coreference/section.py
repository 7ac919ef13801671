"""The page of coreference: who finds antecedents how often (Clark's table 2)."""

from __future__ import annotations

from headscope.evidence import BEST, HEADS, BestHead, HeadRow, RoleRule, Unit, undecided
from headscope.evidence.few_cases import beats
from headscope.report.catalogue import role_rules
from headscope.report.examples import examples_of
from headscope.report.named_baselines import strongest_baseline
from headscope.report.sections import Cell, Section, analysis_section
from headscope.report.seen_again import SEEN_AGAIN, OtherCorpora
from headscope.report.small_plots import interval_of
from headscope.report.views import CorpusView

SOURCES = {
    "nearest": "nearest mention",
    "head_match": "same head word, else nearest",
    "sieve": "rule sieve",
    "chance": "chance",
}
"""Statistics of what needs no head, and what they are called in the table."""


@analysis_section("coreference")
def antecedents(view: CorpusView) -> Section | None:
    """The baselines and the best heads of a corpus; None where there are no mention chains."""
    results = view.results
    place = {"corpus": view.corpus, "weights": view.weights, "analysis": "coreference"}
    best = results.rows(BEST, statistic="accuracy", **place)
    windows = view.corpus_record.windows
    if not best or windows is None:
        return None
    groups = [row.group for row in best]
    gains = {row.group: row for row in results.rows(BEST, statistic="gain", **place)}
    (rule,) = (rule for name, rule in role_rules() if name == "coreference")

    def line(title: str, rows: list[HeadRow]) -> tuple[Cell | str, ...]:
        by_group = {row.group: row for row in rows}
        return (title, *(_cell(view, by_group[group]) for group in groups))

    lines = [
        line(title, results.rows(HEADS, statistic=name, **place)) for name, title in SOURCES.items()
    ]
    lines.append(("best head for each", *(_cell(view, row, named=True) for row in best)))
    lines.append(
        ("above the strongest rule", *(_gain_cell(gains[row.group], row, rule) for row in best))
    )
    name = best[0].name
    same = {"layer": best[0].layer, "head": best[0].head}
    rows = results.rows(HEADS, statistic="accuracy", **place, **same)
    lines.append(line(f"{name} on all data", rows))
    others = OtherCorpora(view, rule, "coreference")
    if others.corpora:
        again = others.again([(row, gains[row.group]) for row in best])
        lines.append(("seen again in other corpora", *again))
    return Section(
        "Antecedents",
        [
            f"{windows.examples:,} windows of at most {windows.limit} pieces. Rules need no "
            "head; the best head for each type is chosen on one half of the documents and scored "
            "on the other, and compared with the rule that is right most often on the same texts. "
            "Bold: above it, by a test in pairs over documents, corrected.",
            *([SEEN_AGAIN] if others.corpora else []),
        ],
        columns=(
            "who finds the antecedent",
            *(f"{row.group} ({row.n:,})" for row in best),
        ),
        rows=lines,
        finding=_finding(view, rule, best, gains),
        count=f"{sum(_beats(row, gains[row.group]) for row in best)} of {len(best)}",
    )


def _finding(
    view: CorpusView, rule: RoleRule, best: list[BestHead], gains: dict[str | None, BestHead]
) -> str:
    """The best head beside the strongest rule, for all mentions or for a type of which it is sure;
    otherwise whether there is none, or too little to tell.
    """
    number = Unit.SHARE.number
    for row in best:
        if _beats(row, gains[row.group]):
            of = "" if row.group == "all" else f" ({row.group})"
            found = f"{row.name} finds {number(row.value)} of antecedents{of}"
            return f"{found}, and beats {strongest_baseline(view.results, rule, row)}"
    every = best[0]
    strongest = strongest_baseline(view.results, rule, every)
    if undecided(gains[every.group], rule.threshold):
        windows = view.corpus_record.windows
        documents = windows.buckets if windows is not None else 0
        return (
            f"Undecided: {every.n:,} mentions in {documents:,} groups of documents are too few to "
            f"tell whether {every.name} ({number(every.value)}) beats {strongest}"
        )
    return f"No head beats {strongest}: the best, {every.name}, finds {number(every.value)}"


def _beats(best: BestHead, gain: BestHead) -> bool:
    """Whether a head is surely better than the strongest rule."""
    return best.sure and beats(gain)


def _gain_cell(gain: BestHead, best: BestHead, rule: RoleRule) -> Cell:
    """How much better than the strongest rule the best head is, or that this cannot be told."""
    note = gain.interval(Unit.POINTS)
    if not _beats(best, gain) and undecided(gain, rule.threshold):
        note += " undecided"
    return Cell(Unit.POINTS.number(gain.value), note, strong=_beats(best, gain))


def _cell(view: CorpusView, row: HeadRow, named: bool = False) -> Cell:
    value = Unit.SHARE.number(row.value)
    text = f"{row.name} {value}" if named else value
    examples = examples_of(view, row) if row.head is not None else None
    return Cell(text, row.interval(Unit.SHARE), plot=interval_of(row), examples=examples)
