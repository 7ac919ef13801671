"""The page of linked words: the best head for each relation (Clark's table 1), by corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from headscope.evidence import BEST, HEADS, BestHead, HeadRow, RoleRule, Unit, undecided
from headscope.evidence.few_cases import MIN_CASES
from headscope.report.catalogue import role_rules
from headscope.report.charts import Chart, head_datum, head_map
from headscope.report.examples import examples_of
from headscope.report.sections import Cell, Section, analysis_section
from headscope.report.seen_again import SEEN_AGAIN, OtherCorpora
from headscope.report.small_plots import Interval, Strip
from headscope.report.views import CorpusView
from headscope.runs import RunResults

DIRECTIONS = ("row", "column", "head-row")
MAPS = 6
"""Relations whose heads are mapped."""
WAYS = {"row": "dep → head", "column": "dep ← head", "head-row": "head → dep"}
"""Who looks at whom, by direction."""
COLUMNS = ("relation", "best head", "accuracy", "above the offset", "best offset", "who looks", "n")
AGAIN = "seen again in"
number = Unit.SHARE.number


@dataclass(frozen=True)
class BestForRelation:
    """The best head for a relation in one direction, with its evidence."""

    accuracy: BestHead
    gain: BestHead

    @property
    def head(self) -> str:
        """Its name."""
        return self.accuracy.name

    @property
    def sure(self) -> bool:
        """Above the best fixed offset, and above what its own offsets give, both corrected."""
        return self.gain.value > 0 and self.gain.sure and self.accuracy.sure

    @property
    def value(self) -> str:
        """Its accuracy in words."""
        return number(self.accuracy.value)


@dataclass(frozen=True)
class Relation:
    """A relation: the best fixed offset, and the best head in every direction."""

    name: str
    n: int
    offset: str
    baseline: float | None
    directions: dict[str, BestForRelation]

    @property
    def few(self) -> bool:
        """Whether the instances are fewer than the papers would report."""
        return self.n < MIN_CASES

    @property
    def best(self) -> BestForRelation:
        """The better of row and column: what Clark's table 1 reports."""
        both = (self.directions[way] for way in ("row", "column") if way in self.directions)
        return max(both, key=lambda best: best.accuracy.value)

    @property
    def cells(self) -> tuple[Cell | str, ...]:
        """Relation, instances, the best fixed offset, and the best head of every direction."""
        cells: list[Cell | str] = [self.label, f"{self.n:,}", self.best_offset]
        for direction in DIRECTIONS:
            best = self.directions[direction]
            note = best.accuracy.interval(Unit.SHARE)
            if direction == "head-row":
                note += f" offset {number(best.accuracy.baseline)}"
            cells.append(Cell(best.head, head=best.head))
            cells.append(Cell(best.value, note, strong=best.sure))
        return tuple(cells)

    def undecided(self, rule: RoleRule) -> bool:
        """Whether no head is sure, and there are too few instances to say that none is better."""
        return not self.best.sure and undecided(self.best.gain, rule.threshold)

    def best_cells(self, view: CorpusView, words: str) -> tuple[Cell | str, ...]:
        """Relation, the head that finds it best, how often, and how much better than position."""
        best, baseline = self.best, self.baseline
        row, gain = best.accuracy, best.gain
        plot = Interval(row.value, row.low, row.high, baseline, sure=best.sure)
        note, examples = row.interval(Unit.SHARE), examples_of(view, row)
        moved = Cell(Unit.POINTS.number(gain.value), gain.interval(Unit.POINTS), strong=best.sure)
        return (
            Cell(self.label, words),
            Cell(best.head, head=best.head),
            Cell(best.value, note, strong=best.sure, plot=plot, examples=examples),
            moved,
            self.best_offset,
            WAYS[str(row.direction)],
            f"{self.n:,}",
        )

    @property
    def label(self) -> str:
        """Its name, marked if there are few instances."""
        return self.name + (" *" if self.few else "")

    @property
    def best_offset(self) -> str:
        """The offset at which most of its words are, and how many."""
        return f"{self.offset}: {number(self.baseline)}"


def relations(results: RunResults, corpus: str, weights: str, analysis: str) -> list[Relation]:
    """Every relation of a corpus, in the order of the analysis: all, then by frequency."""
    place = {"corpus": corpus, "weights": weights, "analysis": analysis}
    by_relation: dict[str, dict[str, BestForRelation]] = defaultdict(dict)
    gains = {
        (row.group, row.direction): row for row in results.rows(BEST, statistic="gain", **place)
    }
    for row in results.rows(BEST, statistic="accuracy", **place):
        best = BestForRelation(row, gains[row.group, row.direction])
        by_relation[str(row.group)][str(row.direction)] = best
    offsets: dict[str, HeadRow] = {}
    for offset in results.rows(HEADS, statistic="fixed_offset", **place):
        relation = str(offset.group)
        if relation not in offsets or offset.value > offsets[relation].value:
            offsets[relation] = offset
    return [
        Relation(
            name,
            directions["row"].accuracy.n,
            str(offsets[name].direction),
            directions["row"].accuracy.baseline,
            directions,
        )
        for name, directions in by_relation.items()
    ]


@analysis_section("dependencies")
def dependencies_section(view: CorpusView) -> Section | None:
    """The relations of a treebank."""
    return make_section(view, "dependencies", menu="Relations")


@analysis_section("links")
def links_section(view: CorpusView) -> Section | None:
    """The links that a user has brought."""
    return make_section(view, "links")


def make_section(view: CorpusView, analysis: str, menu: str = "") -> Section:
    """The section of one of the analyses of linked words."""
    rows = relations(view.results, view.corpus, view.weights, analysis)
    if not rows:
        return Section(
            analysis, ["No relation is frequent enough to be reported (see --min-count)."]
        )
    (rule,) = (rule for name, rule in role_rules() if name == analysis)
    others = OtherCorpora(view, rule, analysis)
    named = [row for row in rows if row.name != "all"]
    named.sort(key=lambda row: -row.best.gain.value)
    sure = [row for row in named if row.best.sure]
    undecided_rows = [row for row in named if row.undecided(rule)]
    unsure = [row for row in named if not row.best.sure and row not in undecided_rows]
    few = " * fewer than 100 instances." if any(row.few for row in rows) else ""
    text = (
        "The "
        "tick is the offset, the dot the best head with its 95% interval, chosen on one half of "
        "the documents and scored on the other; filled: above the offset, and above what the "
        f"head's own offsets would score, both after correction (q below .05).{few}"
    )
    headings = (heading for way in DIRECTIONS for heading in (f"{way}: head", way))
    return Section(
        analysis,
        [
            "A head finds a relation when a word's largest weight falls on the right word. That is "
            "worth telling only where position alone, the best fixed offset, does not do as well.",
            *_attachment(view, analysis),
            text,
        ],
        list(_relation_maps(view, analysis, rows)),
        below=[
            _group(view, sure, "A head does better than position", others),
            _group(view, unsure, "Not shown to be better than position", others),
            *_undecided_group(view, undecided_rows, others),
            Section(
                "The best head in every direction",
                [
                    "Row: whom the word looks at; column: who looks at the word; head-row: whether "
                    "what it is linked to looks at it. Bold: both tests are passed."
                ],
                columns=("relation", "n", "best offset", *headings),
                rows=[row.cells for row in rows],
            ),
        ],
        finding=_finding(view, sure, undecided_rows, named),
        glance=_strip(named),
        menu=menu,
        count=f"{len(sure)} of {len(named)}",
    )


def _finding(
    view: CorpusView, sure: list[Relation], undecided_rows: list[Relation], named: list[Relation]
) -> str:
    """How many relations some head finds better than position does, and how many are undecided."""
    if not sure and len(undecided_rows) == len(named):
        cases = max((row.n for row in named), default=0)
        return (
            f"Undecided: at most {cases:,} words of a relation in {view.corpus_record.buckets:,} "
            "groups of documents are too few to tell whether a head beats every fixed offset"
        )
    many = f"; {len(undecided_rows)} are undecided: too few words" if undecided_rows else ""
    if not sure:
        return (
            f"For none of {len(named)} relations does a head surely beat every fixed offset{many}"
        )
    does = "relations a head beats" if len(named) > 1 else "relation a head beats"
    return f"For {len(sure)} of {len(named)} {does} every fixed offset{many}"


def _strip(named: list[Relation]) -> Strip:
    """Points above the best offset, a relation a row."""
    gains = [(row.best.gain, row.best.sure) for row in named]
    rows = [Interval(gain.value, gain.low, gain.high, 0.0, sure) for gain, sure in gains]
    return Strip(rows, "best offset", Unit.POINTS.number)


def _group(view: CorpusView, rows: list[Relation], title: str, others: OtherCorpora) -> Section:
    """Some relations; with what other corpora say of their heads where a run has several."""
    words = others.rule.group_words
    text = [] if rows else ["None."]
    lines = [row.best_cells(view, words.get(row.name, "")) for row in rows]
    columns: tuple[str, ...] = COLUMNS
    if others.corpora and any(row.best.sure for row in rows):
        again = others.again([(row.best.accuracy, row.best.gain) for row in rows])
        lines = [(*line, cell) for line, cell in zip(lines, again, strict=True)]
        columns = (*COLUMNS, f"{AGAIN} {len(others.corpora)} other corpora")
        text.append(SEEN_AGAIN)
    return Section(title, text, columns=columns, rows=lines)


def _undecided_group(
    view: CorpusView, rows: list[Relation], others: OtherCorpora
) -> Iterator[Section]:
    """Relations with too few instances to say that no head is better than position."""
    if rows:
        yield _group(view, rows, "Undecided: too few words to tell", others)


def _attachment(view: CorpusView, analysis: str) -> Iterator[str]:
    """Unlabelled attachment where every relation has its own best head, or offset."""
    place = {"corpus": view.corpus, "weights": view.weights, "analysis": analysis}
    for row in view.results.rows(HEADS, statistic="attachment", **place):
        value = f"{number(row.value)} {row.interval(Unit.SHARE)}"
        yield f"Unlabelled attachment with the {row.group}: {value}."


def _relation_maps(view: CorpusView, analysis: str, rows: list[Relation]) -> Iterator[Chart]:
    """Where the heads sit that find the relations for which some head is sure."""
    sure = [row for row in rows if row.best.sure and row.name != "all"]
    sure.sort(key=lambda row: -row.best.gain.value)
    for row in sure[:MAPS]:
        way = str(row.best.accuracy.direction)
        heads = [head_datum(head) for head in view.head_rows(analysis, "accuracy", way, row.name)]
        yield head_map(
            f"{analysis}-{row.name}-{way}".replace(":", "-"),
            f"{row.name} ({way})",
            f"{row.name}, {way}: share of {row.n:,} found; best offset {row.offset} finds "
            f"{number(row.baseline)}.",
            heads,
            Unit.SHARE,
        )
