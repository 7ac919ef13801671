"""Gates: which heads stay open as open gates cost more (Voita et al. 2019, figures 7 and 8)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import altair as alt
import numpy as np

from headscope._util.naming import SELF, head_name
from headscope.analyses._families.section import NO_ROLE, roles
from headscope.evidence import Unit
from headscope.evidence.metrics import Score
from headscope.experiments._shared.head_curves import PRUNING, PruningRow
from headscope.experiments.gates.tables import GATES, GatesSummary, open_shares
from headscope.report.charts import Chart, datum, head_map
from headscope.report.drawings import COLOURS, Drawing
from headscope.report.sections import (
    SHOWN,
    HeadNumbers,
    Place,
    Section,
    card_lines,
    head_numbers,
    run_sections,
)
from headscope.report.small_plots import Interval
from headscope.report.views import RANDOM, CorpusView, views
from headscope.runs import RunResults

INKS = [*COLOURS, "#999999", "#b09c85", "#7e6148", "#91d1c2", "#8491b4", "#f39b7f"]
"""One colour a role."""


@dataclass(frozen=True)
class PathPoint:
    """The gates at a penalty: mean and range over seeds.

    Attributes:
        open, least, most: heads that are open.
        value, low, high: the metric by these heads.
    """

    penalty: float
    open: float
    least: int
    most: int
    value: float
    low: float
    high: float


@run_sections(20)
def gates_sections(results: list[RunResults]) -> Iterator[Section]:
    """Open heads by penalty, what the task keeps by them, and which they are."""
    for run in results:
        if run.has(GATES):
            yield _gates_section(run)


def _gates_section(run: RunResults) -> Section:
    summary, study = run.record.summary_as(GatesSummary), run.record.study
    intact = summary.intact[0]
    path = _path(run, intact)
    kinds = run.attentions if len(run.attentions) > 1 else []
    return Section(
        f"Gates: {study.model.name} on {study.about.name}",
        list(_text(run, summary)),
        [
            Chart(
                "gates-path",
                "heads open, and what the task keeps",
                "A point is a penalty, its lines the range over seeds; dashed: the intact model.",
                _path_drawing(intact),
                other={"paths": [asdict(point) for point in path]},
            ),
            *(_lasting(part) for part in run.by_attention()),
        ],
        ("penalty", "heads open", *kinds, intact.metric, "range over seeds"),
        [
            (
                f"{point.penalty:g}",
                f"{point.open:.1f} ({point.least} to {point.most})",
                *(f"{_open_heads(run.of(kind), point.penalty):.1f}" for kind in kinds),
                f"{point.value:.3f}",
                f"{point.low:.3f} to {point.high:.3f}",
            )
            for point in path
        ],
        finding=_finding(run),
        menu="Gates",
    )


def _finding(run: RunResults) -> str:
    """The heads whose gates stay open longest."""
    shares = {
        head_name(*place, part.attention): share
        for part in run.by_attention()
        for place, share in open_shares(part).items()
    }
    longest = max(shares.values())
    names = [name for name, share in shares.items() if share == longest]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    stay = "stays" if len(names) == 1 else "stay"
    return f"As open gates cost more, {', '.join(names[:3])}{more} {stay} open longest"


@head_numbers(35)
def lasting_gates(view: CorpusView, results: list[RunResults]) -> Iterator[HeadNumbers]:
    """How long the gate of each head stays open."""
    for run in results:
        shares = open_shares(run)
        if shares:
            task = run.record.study.about.name
            yield HeadNumbers(
                f"open gates ({task})",
                f"At which share of penalties and seeds the head's gate on {task} is open.",
                task,
                Unit.SHARE,
                {place: Interval(share, None, None) for place, share in shares.items()},
                worth=shares,
            )


def _lasting(run: RunResults) -> Chart:
    """How long the gates of a kind of attention stay open."""
    shares = open_shares(run)
    maps = [datum(layer, head, share, run.attention) for (layer, head), share in shares.items()]
    kind = "" if run.attention == SELF else f"-{run.attention}"
    return head_map(
        f"gates-lasting{kind}",
        f"how long gates stay open{run.of_attention}",
        "The share of penalties and seeds at which the gate is open.",
        maps,
        Unit.SHARE,
    )


def _open_heads(run: RunResults, penalty: float) -> float:
    """Heads that are open at a penalty, the mean over seeds."""
    rows = run.rows(GATES, penalty=penalty)
    return sum(row.open for row in rows) / len({row.seed for row in rows})


def _text(run: RunResults, summary: GatesSummary) -> Iterator[str]:
    options = run.record.study.options
    seeds, trained = options["seeds"], options["schedule"]["encoder_rate"] > 0
    yield (
        "Every head has a gate that is trained with the task's loss and a penalty for being open, "
        f"on {summary.sizes.choice:,} examples, with {seeds} {'seed' if seeds == 1 else 'seeds'}; "
        "the penalty grows step by step. The metric is evaluated with the open heads alone, the "
        f"others at zero, on {summary.sizes.test:,} other examples. The encoder's weights were "
        f"{'trained too' if trained else 'frozen'}."
        + (f" Only {options['attention']} heads had gates." if options.get("attention") else "")
    )
    shares = {
        head_name(*place, part.attention): share
        for part in run.by_attention()
        for place, share in open_shares(part).items()
    }
    longest = sorted(shares, key=lambda name: -shares[name])[:SHOWN]
    yield (
        "Open longest: "
        + ", ".join(f"{name} ({shares[name]:.0%})" for name in longest)
        + " (share of the penalties and seeds at which the gate is open)."
    )


def _path(run: RunResults, intact: Score) -> list[PathPoint]:
    """A point a penalty. The rows of a seed are in the order of the penalties."""
    penalties = sorted({row.penalty for row in run.rows(GATES)})
    by_seed: dict[int, list[PruningRow]] = defaultdict(list)
    for row in run.rows(PRUNING, metric=intact.metric):
        by_seed[row.draw].append(row)
    path = []
    for penalty, rows in zip(penalties, zip(*by_seed.values(), strict=True), strict=True):
        counts, values = [row.kept for row in rows], [row.value for row in rows]
        heads = float(np.mean(counts)), min(counts), max(counts)
        path.append(PathPoint(penalty, *heads, float(np.mean(values)), min(values), max(values)))
    return path


def _path_drawing(intact: Score) -> Drawing:
    base = alt.Chart(alt.NamedData(name="paths")).encode(
        x=alt.X("open:Q", title="heads open", scale=alt.Scale(reverse=True))
    )
    y = alt.Y("value:Q", title=intact.metric, scale=alt.Scale(zero=False))
    ink = COLOURS[2]
    whole = alt.Chart(alt.Data(values=[{"value": intact.value}]))
    tooltip = [
        alt.Tooltip("penalty:Q"),
        alt.Tooltip("open:Q", title="heads open"),
        alt.Tooltip("value:Q", title=intact.metric, format=".3f"),
    ]
    drawing: Drawing = alt.layer(
        whole.mark_rule(strokeDash=[4, 3], color="#777").encode(y="value:Q"),
        base.mark_line(color=ink).encode(y=y),
        base.mark_rule(color=ink).encode(y="low:Q", y2="high:Q"),
        base.mark_rule(color=ink).encode(x="least:Q", x2="most:Q", y="value:Q"),
        base.mark_circle(color=ink, size=60).encode(y=y, tooltip=tooltip),
    ).properties(width=380, height=260)
    return drawing


@card_lines(60)
def gate_lines(view: CorpusView, results: list[RunResults]) -> Iterator[tuple[Place, str]]:
    """How long the gate of each head stays open."""
    for run in results:
        for place, share in open_shares(run).items():
            task = run.record.study.about.name
            yield place, f"its gate on {task} is open at {share:.0%} of the steps and seeds"


@run_sections(130)
def roles_that_stay(results: list[RunResults]) -> Iterator[Section]:
    """Which roles survive: for gates and a scan of one model (Voita et al. 2019, figure 8)."""
    for run in results:
        for view in views(results) if run.has(GATES) else []:
            same_model = view.model.sha256 == run.record.study.model.sha256
            if same_model and view.weights != RANDOM and view.roles:
                yield _roles_section(run.of(view.attention), view)


def _roles_section(run: RunResults, view: CorpusView) -> Section:
    role_of = roles(view)
    states: dict[tuple[float, str], list[bool]] = defaultdict(list)
    for row in run.rows(GATES):
        role = role_of.get(head_name(row.layer, row.head, row.attention), NO_ROLE)
        states[row.penalty, role].append(row.open)
    penalties = sorted({penalty for penalty, _ in states})
    sizes = Counter(role_of.values())
    names = [role for role, _ in sizes.most_common()]
    shares = {key: float(np.mean(open_)) for key, open_ in states.items()}
    bars = [
        {"penalty": f"{penalty:g}", "role": role, "heads": shares[penalty, role] * sizes[role]}
        for penalty in penalties
        for role in names
    ]
    study = run.record.study
    return Section(
        f"Which roles stay? {study.model.name} on {study.about.name}, roles as on {view.corpus}"
        f"{run.of_attention}",
        [
            f"Roles as on {view.corpus}, each head by its most telling one; open heads, the mean "
            "over seeds, as the penalty grows."
        ],
        [
            Chart(
                "gates-roles",
                "open heads by role",
                "From left to right, open gates cost more.",
                _roles_drawing([f"{penalty:g}" for penalty in penalties], names),
                other={"bars": bars},
            )
        ],
        ("role", "heads", *(f"open at {penalty:g}" for penalty in penalties)),
        [
            (role, str(sizes[role]), *(f"{shares[penalty, role]:.0%}" for penalty in penalties))
            for role in names
        ],
        menu=f"Roles that stay{run.of_attention}",
    )


def _roles_drawing(penalties: list[str], names: list[str]) -> Drawing:
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="bars"))
        .mark_bar()
        .encode(
            x=alt.X(
                "penalty:N",
                title="penalty of an open gate",
                sort=penalties,
                axis=alt.Axis(labelAngle=0),
            ),
            y=alt.Y("heads:Q", title="open heads"),
            color=alt.Color(
                "role:N", sort=names, scale=alt.Scale(domain=names, range=INKS[: len(names)])
            ),
            tooltip=["penalty:N", "role:N", alt.Tooltip("heads:Q", format=".1f")],
        )
        .properties(width=380, height=260)
    )
    return drawing
