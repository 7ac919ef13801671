"""Do roles predict? The best head of every relation, chosen on one treebank, on texts it never saw.

    python -m bench.roles_predict [MODEL ...] --chosen CORPUS --elsewhere CORPUS [CORPUS ...]

A corpus is a path, or PATH@PATTERNS for the documents that match (`wsj.conllx.gz@wsj_01[6-9]*`).
For every relation with at least 100 cases in both, the better of row and column is taken where it
was chosen (cross-fitted, with its interval), and the same head in the same direction elsewhere.

**Bold**: it beats the best fixed offset of that corpus, and what its own offsets would score there;
where it was chosen as the scan tests it, elsewhere corrected over relations alone, since head and
direction are fixed before. A minus: its accuracy lies below the interval of where it was chosen;
two: below it by more than the sampling error of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headscope._util.progress import NoProgress
from headscope.analyses._linking.section import Relation, relations
from headscope.corpus import Corpus, read
from headscope.evidence import HEADS, HeadRow, Unit
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model, load
from headscope.report.seen_again import pass_again
from headscope.runs import RunResults

ALL, NAME = "all", "dependencies"
points = Unit.POINTS.number
Numbers = dict[tuple[str, str, str, str], HeadRow]
"""Rows of heads by statistic, relation, direction and head."""


@dataclass(frozen=True)
class Again:
    """The head that was best for a relation where it was chosen, on another corpus.

    Attributes:
        accuracy, gain: its numbers there; beats: whether they pass both tests.
        within: whether its accuracy lies in the interval of where it was chosen, or above it.
        surely_lower: whether it lies below by more than the sampling error of both.
    """

    accuracy: HeadRow
    gain: HeadRow
    beats: bool
    within: bool
    surely_lower: bool

    @property
    def text(self) -> str:
        """The accuracy with its interval and its marks."""
        marks = "" if self.within else " --" if self.surely_lower else " -"
        return _number(self.accuracy, self.beats) + marks


def scan_trees(model: Model, corpus: Corpus, out: Path | None = None) -> RunResults:
    """The relations of a treebank."""
    settings = Settings(max_length=min(512, model.max_length or 512))
    return scan(model, corpus, only=[NAME], settings=settings, out=out, progress=NoProgress())


def chosen_heads(results: RunResults) -> list[Relation]:
    """The relations with their best heads, the most frequent first."""
    found = relations(results, results.corpora[0], "trained", NAME)
    return [relation for relation in found if relation.name != ALL and not relation.few]


def seen_again(chosen: Sequence[Relation], results: RunResults) -> dict[str, Again]:
    """By relation, what the chosen heads do on another corpus; without those it does not have."""
    numbers: Numbers = {
        (row.statistic, str(row.group), str(row.direction), row.name): row
        for row in results.rows(HEADS, analysis=NAME)
        if row.head is not None
    }
    there = [one for one in chosen if ("accuracy", *_key(one)) in numbers]
    pairs = [(numbers["accuracy", *_key(one)], numbers["gain", *_key(one)]) for one in there]
    return {
        one.name: _again(one, *pair, beats)
        for one, pair, beats in zip(there, pairs, pass_again(pairs), strict=True)
    }


def _key(relation: Relation) -> tuple[str, str, str]:
    best = relation.best
    return relation.name, str(best.accuracy.direction), best.head


def _again(relation: Relation, accuracy: HeadRow, gain: HeadRow, beats: bool) -> Again:
    first = relation.best.accuracy
    assert first.low is not None
    low = first.low
    lower = first.value - accuracy.value
    below = accuracy.high if accuracy.high is not None else 1.0
    reach = np.hypot(first.value - low, below - accuracy.value)  # of the difference
    return Again(
        accuracy,
        gain,
        beats=beats,
        within=accuracy.value >= low,
        surely_lower=bool(lower > reach),
    )


def _number(row: HeadRow, strong: bool) -> str:
    text = f"{Unit.SHARE.number(row.value)} {row.interval(Unit.SHARE)}".replace("%", "")
    return f"**{text}**" if strong else text


def table(
    chosen: Sequence[Relation], elsewhere: dict[str, dict[str, Again]], name: str
) -> Iterator[str]:
    """The lines of a table in Markdown: a relation a line, a corpus a column."""
    yield f"| relation | n | head | chosen on {name} | {' | '.join(elsewhere)} |"
    yield "| --- " * (4 + len(elsewhere)) + "|"
    for one in chosen:
        best = one.best
        cells = (again[one.name].text if one.name in again else "" for again in elsewhere.values())
        head = f"{best.head} {best.accuracy.direction}"
        first = _number(best.accuracy, best.sure)
        yield f"| {one.name} | {one.n:,} | {head} | {first} | {' | '.join(cells)} |"


def totals(chosen: Sequence[Relation], elsewhere: dict[str, dict[str, Again]]) -> Iterator[str]:
    """What became of the heads that beat position where they were chosen, and of the others."""
    for corpus, again in elsewhere.items():
        for sure in (True, False):
            same = [
                again[one.name] for one in chosen if one.best.sure == sure and one.name in again
            ]
            did = "beat" if sure else "did not surely beat"
            yield (
                f"{corpus}: of {len(same)} heads that {did} position where they were chosen, "
                f"{sum(one.beats for one in same)} do here; of {len(same)}, "
                f"{sum(one.within for one in same)} lie in the interval or above it, "
                f"{sum(one.surely_lower for one in same)} surely below; "
                f"{sum(one.beats and one.within for one in same)} hold up by both"
            )
        lost = [
            f"{one.name} ({points(one.best.gain.value)}, here {points(again[one.name].gain.value)})"
            for one in chosen
            if one.best.sure and one.name in again and not again[one.name].beats
        ]
        yield f"{corpus}: those that do not, by their gains over position: {', '.join(lost)}"


def _corpus(source: str) -> Corpus:
    path, _, documents = source.partition("@")
    return read(path, documents=documents or None)


def _title(source: str) -> str:
    path, _, documents = source.partition("@")
    name = Path(path).name.partition(".")[0]
    return f"{name} ({documents})" if documents else name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["minilm"])
    parser.add_argument("--chosen", required=True)
    parser.add_argument("--elsewhere", nargs="+", required=True)
    parser.add_argument("--runs", type=Path, help="folder in which the scans are kept")
    asked = parser.parse_args()
    for name in asked.models:
        model = load(name)

        def scanned(source: str, model: Model = model, name: str = name) -> RunResults:
            out = asked.runs / f"{Path(name).name} {_title(source)}" if asked.runs else None
            return scan_trees(model, _corpus(source), out)

        chosen = chosen_heads(scanned(asked.chosen))
        elsewhere = {
            _title(source): seen_again(chosen, scanned(source)) for source in asked.elsewhere
        }
        print(f"{model.name}\n")
        print("\n".join(table(chosen, elsewhere, _title(asked.chosen))), end="\n\n")
        print("\n".join(totals(chosen, elsewhere)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
