"""A view: one model on one corpus, as charts, lines and a table of heads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from headscope._util.naming import SELF, head_name
from headscope.evidence import HEADS, HeadRow, Unit
from headscope.evidence.example_tables import ARCS, ArcsRow
from headscope.report.arcs import Picture, picture
from headscope.report.catalogue import load_sections
from headscope.report.charts import Chart, by_layer, by_offset, head_datum, head_map
from headscope.report.head_roles import HeadRole, Label, head_roles, labels
from headscope.report.numbers import Line, described_statistics, number_key, striking
from headscope.report.sections import Section, section_of
from headscope.runs import AnalysisRecord, CorpusRecord, ModelRecord, RunResults

MANY = 6
"""Groups beyond which an ordered profile says more than one map each."""
RANDOM = "random"


@dataclass(frozen=True)
class Headline:
    """A number per head that is worth a map: its words, its statistic, its group."""

    text: str
    analysis: str
    statistic: str
    direction: str | None
    group: str | None
    unit: Unit
    about: str


@dataclass(frozen=True)
class CorpusView:
    """One model, with trained or random weights, on one corpus; one kind of its attention."""

    results: RunResults
    corpus: str
    weights: str
    attention: str = SELF

    @property
    def model(self) -> ModelRecord:
        """What the run recorded of this model."""
        study = self.results.record.study
        return study.models.get(self.weights, study.model)

    @property
    def title(self) -> str:
        """The model and the corpus in words."""
        random = " with random weights" if self.weights == RANDOM else ""
        of = "" if self.attention == SELF else f", {self.attention} attention"
        return f"{self.model.name}{random} on {self.corpus}{of}"

    @property
    def head_counts(self) -> list[int]:
        """The number of heads of every layer."""
        return self.model.head_counts(self.attention)

    def name(self, place: tuple[int, int]) -> str:
        """The name of the head at a layer and number."""
        return head_name(*place, self.attention)

    @cached_property
    def corpus_record(self) -> CorpusRecord:
        """What the run recorded of this corpus."""
        return next(
            record
            for record in self.results.record.corpora
            if (record.corpus, record.weights, record.attention)
            == (self.corpus, self.weights, self.attention)
        )

    @cached_property
    def rows(self) -> list[HeadRow]:
        """The rows of heads.parquet that belong to this view."""
        return self.results.rows(HEADS, corpus=self.corpus, weights=self.weights)

    @cached_property
    def analyses(self) -> list[AnalysisRecord]:
        """The analyses of the run; of several kinds of attention, those that this one allows."""
        every = self.results.record.analyses
        if self.attention == SELF:
            return every
        there = {row.analysis for row in self.rows}
        return [record for record in every if record.analysis in there]

    @cached_property
    def headlines(self) -> list[Headline]:
        """What is worth a map, in the order of the analyses."""
        record = self.results.record
        return [
            Headline(
                text,
                analysis.analysis,
                statistic.statistic,
                statistic.direction,
                group or None,
                record.unit(statistic.unit),
                statistic.about,
            )
            for analysis, statistic in described_statistics(record)
            for group, text in statistic.headlines.items()
        ]

    @cached_property
    def _by_statistic(self) -> dict[tuple[str | None, ...], list[HeadRow]]:
        rows: dict[tuple[str | None, ...], list[HeadRow]] = defaultdict(list)
        for row in self.rows:
            rows[row.analysis, row.statistic, row.direction, row.group].append(row)
        return rows

    def head_rows(
        self, analysis: str, statistic: str, direction: str | None, group: str | None
    ) -> list[HeadRow]:
        """The rows of a statistic, one per head."""
        rows = self._by_statistic[analysis, statistic, direction, group]
        return [row for row in rows if row.head is not None]

    def of(self, line: Headline) -> list[HeadRow]:
        """The rows of a headline, one per head."""
        return self.head_rows(line.analysis, line.statistic, line.direction, line.group)

    def by_layer(self, line: Headline) -> list[HeadRow]:
        """The rows of a headline, one per layer."""
        rows = self._by_statistic[line.analysis, line.statistic, line.direction, line.group]
        return [row for row in rows if row.head is None and row.layer is not None]

    @property
    def lines(self) -> list[Line]:
        """The most striking heads."""
        return striking(self.results, self.corpus, self.weights)

    @cached_property
    def roles(self) -> list[HeadRole]:
        """The roles that heads have earned."""
        return head_roles(self.results, self.corpus, self.weights)

    @property
    def labels(self) -> list[Label]:
        """The same by name and head."""
        return labels(self.roles)

    @property
    def left_out(self) -> dict[str, str]:
        """Analyses that the corpus does not allow, and why."""
        every = self.results.record.left_out.get(self.corpus, {})
        if self.attention == SELF:
            return every
        of = f" of {self.attention} attention"
        return {  # of this kind, or of a whole other kind ("decoder attention")
            name.removesuffix(of): why
            for name, why in every.items()
            if name.endswith(of) or " of " not in name
        }

    def section(self, analysis: str) -> Section | None:
        """What an analysis has to show besides numbers per head."""
        load_sections()
        make = section_of(analysis)
        return make(self) if make is not None else None

    def pictures(self, analysis: str) -> list[tuple[str, list[Picture]]]:
        """Real sentences with the arcs of the annotation and of the best heads, by head and
        group, in the order of the run folder.
        """
        place = {"corpus": self.corpus, "weights": self.weights, "analysis": analysis}
        pictures: dict[str, list[Picture]] = defaultdict(list)
        for row in self.results.rows(ARCS, **place):
            words = (head_name(row.layer, row.head, row.attention), row.group, row.direction)
            pictures[" ".join(word for word in words if word)].append(picture(row))
        return list(pictures.items())

    @cached_property
    def examples(self) -> dict[tuple[str, str], list[ArcsRow]]:
        """The texts on which heads are shown, by the key of a number and the name of a head."""
        by_number: dict[tuple[str, str], list[ArcsRow]] = defaultdict(list)
        for row in self.results.rows(ARCS, corpus=self.corpus, weights=self.weights):
            key = number_key(row.analysis, row.statistic, row.direction, row.group)
            by_number[key, head_name(row.layer, row.head, row.attention)].append(row)
        return dict(by_number)

    def charts(self) -> Iterator[tuple[AnalysisRecord, Section | None, list[Chart]]]:
        """Every analysis with its own section and its charts."""
        for analysis in self.analyses:
            name = analysis.analysis
            lines = [line for line in self.headlines if line.analysis == name]
            charts = [*self._curves(name, lines), *self._maps(lines), *self._profiles(analysis)]
            section = self.section(name)
            if section is not None:
                charts = [*section.charts, *charts]
            if charts or (section is not None and section.rows):
                yield analysis, section, charts

    def _curves(self, name: str, lines: list[Headline]) -> Iterator[Chart]:
        for unit in dict.fromkeys(line.unit for line in lines):
            group = [line for line in lines if line.unit == unit]
            rows = [(row, line.text) for line in group for row in self.by_layer(line)]
            layers = [head_datum(row, series=text) for row, text in rows]
            heads = [
                head_datum(row, series=line.text) for line in group for row in self.of(line)
            ] or layers
            baseline = any(row.baseline is not None for row, _ in rows)
            if layers:
                yield by_layer(
                    f"{name}-by-layer-{unit.name}",
                    f"By layer, {'shares' if unit == Unit.SHARE else unit.name}",
                    "A point is a head, a line joins the means of the layers with their 95% "
                    f"intervals{'; dashed is the baseline' if baseline else ''}.",
                    [line.text for line in group],
                    unit,
                    heads=heads,
                    layers=layers,
                    baseline=baseline,
                )

    def _maps(self, lines: list[Headline]) -> Iterator[Chart]:
        for line in lines:
            rows = [head_datum(row) for row in self.of(line)]
            if rows:
                slug = f"{line.analysis}-{line.text}".replace(" ", "-").replace(",", "")
                yield head_map(slug, line.text, "", rows, line.unit, headline=line.text)

    def _profiles(self, analysis: AnalysisRecord) -> Iterator[Chart]:
        for statistic in analysis.statistics:
            if len(statistic.groups) > MANY and _offsets(statistic.groups):
                rows = [
                    head_datum(row)
                    for row in self.rows
                    if (row.analysis, row.statistic) == (analysis.analysis, statistic.statistic)
                    and row.head is not None
                ]
                unit = self.results.record.unit(statistic.unit)
                yield by_offset(
                    f"{analysis.analysis}-profile",
                    "Profile over offsets",
                    "One map a layer: heads down, offsets across; -1 is the token before.",
                    rows,
                    groups=statistic.groups,
                    unit=unit,
                )


def _offsets(groups: list[str]) -> bool:
    """Whether groups are offsets, which have an order."""
    return all(group.lstrip("+-").isdecimal() for group in groups)


def views(results: list[RunResults]) -> list[CorpusView]:
    """All views of some runs."""
    return [
        CorpusView(run.of(record.attention), record.corpus, record.weights, record.attention)
        for run in results
        for record in run.record.corpora
    ]
