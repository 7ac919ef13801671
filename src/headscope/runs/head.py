"""One head of a run: the best for something, or one that is named, in words and as a chart."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headscope._util.naming import head_name, parse_heads
from headscope.errors import HeadscopeError
from headscope.evidence import BestHead, Unit

if TYPE_CHECKING:
    from headscope.runs.results import RunResults


@dataclass(frozen=True)
class BestResult:
    """The best head for something, with its evidence."""

    row: BestHead
    unit: Unit

    @property
    def layer(self) -> int:
        """Counted from 0."""
        return self.row.layer

    @property
    def head(self) -> int:
        """Counted from 0."""
        return self.row.head

    @property
    def value(self) -> float:
        """The cross-fitted value."""
        return self.row.value

    def __repr__(self) -> str:
        row, number = self.row, self.unit.number
        value = f"{number(row.value)} {row.interval(self.unit)}"
        return f"{row.name}  {value}  baseline {number(row.baseline)}"


@dataclass(frozen=True)
class HeadResult:
    """A head of a run's model on one of its corpora.

    >>> from headscope import read, scan
    >>> results = scan("minilm", read("tour", limit=24), only=["relative_position"])
    >>> results.head("L0.H2")
    L0.H2: no role known
    >>> results.head("L0.H2").plot().to_dict()["title"]
    'L0.H2 on tour'
    """

    results: RunResults
    name: str
    corpus: str
    weights: str = "trained"

    @property
    def lines(self) -> list[str]:
        """All that the run knows of it, a sentence each."""
        from headscope.report.head_cards import head_cards

        return head_cards(self._view, [self.results])[self.name].lines

    @property
    def roles(self) -> list[str]:
        """The roles that it has earned, the more telling ones first."""
        return list(dict.fromkeys(r.rule.name for r in self._view.roles if r.row.name == self.name))

    def plot(self) -> Any:
        """Its shares with intervals and baselines as a chart that can be changed (Altair)."""
        from headscope.report.plots import interval_chart
        from headscope.report.small_plots import interval_of

        view = self._view
        lines = [
            (line.text, interval_of(row))
            for line in view.headlines
            if line.unit.bounded
            for row in view.of(line)
            if row.name == self.name
        ]
        if not lines:
            raise HeadscopeError(f"no share of {self.name} was measured on {self.corpus}")
        return interval_chart(lines, Unit.SHARE).properties(title=f"{self.name} on {self.corpus}")

    @property
    def _view(self) -> Any:
        from headscope.report.views import views

        for view in views([self.results]):
            heads = [view.name((n, h)) for n, c in enumerate(view.head_counts) for h in range(c)]
            if (view.corpus, view.weights) == (self.corpus, self.weights) and self.name in heads:
                return view
        raise HeadscopeError(f"this run has no numbers of {self.name} on {self.corpus}")

    def __repr__(self) -> str:
        title = f"{self.name}: {', '.join(self.roles) or 'no role known'}"
        return "\n".join([title, *(f"  {line}" for line in self.lines)])

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in self.lines)
        title = f"{self.name}: {', '.join(self.roles) or 'no role known'}"
        return f"<b>{html.escape(title)}</b><ul>{lines}</ul>"


def known_name(results: RunResults, name: str) -> str:
    """The name of a head as tables write it; an error that says which heads there are."""
    model = results.record.study.model
    kinds = [kind for kind, counts in model.attentions.items() for _ in counts]
    counts = [count for each in model.attentions.values() for count in each]
    heads = parse_heads(name, counts or [model.heads] * model.layers, kinds)
    named = [(number, head) for number, every in heads.items() for head in every]
    if len(named) != 1:
        raise HeadscopeError(f"{name!r} is not one head (L3.H4)")
    ((number, head),) = named
    if not kinds:
        return head_name(number, head)
    return head_name(kinds[:number].count(kinds[number]), head, kinds[number])
