"""What an analysis found, in a sentence, where its own page does not say it better."""

from __future__ import annotations

from headscope.report.catalogue import role_rules
from headscope.report.findings import finding_of, headline
from headscope.report.numbers import Line
from headscope.report.views import CorpusView


def view_headline(view: CorpusView) -> str:
    """A view in one sentence: its roles, or what it found where nothing in it earns a role."""
    with_rules = {name for name, _ in role_rules()}
    names = [analysis.analysis for analysis in view.analyses]
    if view.roles or with_rules & set(names):
        return headline(view)
    sections = ((view.section(name), name) for name in names)
    found = (
        (one.finding if one is not None else "") or analysis_finding(view, name)
        for one, name in sections
    )
    return next((text for text in found if text), view.title)


def analysis_finding(view: CorpusView, analysis: str) -> str:
    """The roles that heads earned by an analysis; otherwise its clearest best head."""
    roles = [role for role in view.roles if role.analysis == analysis]
    if roles:
        by_rule = {id(role.rule): role for role in reversed(roles)}
        clearest = by_rule[id(roles[0].rule)]
        finding = finding_of(view, clearest)
        same = {role.place for role in roles if role.rule is clearest.rule}
        others = len(same) - 1
        also = f", and {others} other head{'s have' if others > 1 else ' has'} the same role"
        return f"{finding.row.name} {finding.title}{also if others else ''}"
    lines = [line for line in view.lines if line.analysis == analysis]
    sure = [line for line in lines if line.row.sure]
    if not lines:
        return ""
    if not sure and any(line.row.q is not None for line in lines):
        return f"No head's {lines[0].text} can be told from the baseline"
    return _highest(max(sure or lines, key=_lift))


def _highest(line: Line) -> str:
    text = f"{line.text[0].upper()}{line.text[1:]}"
    said = f"{text}: highest in {line.row.name}, {line.unit.number(line.row.value)}"
    if line.row.baseline is None or line.unit.signed:
        return said
    return f"{said}; baseline {line.unit.number(line.row.baseline)}"


def _lift(line: Line) -> float:
    return line.row.value - (line.row.baseline or 0.0) if line.unit.percent else 0.0
