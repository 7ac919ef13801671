"""Gates: which heads stay open as open gates cost more (Voita et al. 2019, figures 7 and 8)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np

from headscope._util.naming import head_name
from headscope.analyses._families import section as families
from headscope.report.charts import COLOURS, Chart, Drawing, heat_map
from headscope.report.sections import SHOWN, Panel
from headscope.report.views import View, views
from headscope.runs import Results, rows_of

Row = dict[str, Any]
Place = tuple[int, int]
PATHS = alt.NamedData(name="paths")


def gates(one: Results) -> Iterator[Panel]:
    """Heads that are open by penalty, what the task keeps by them, and which they are."""
    if not one.gates.num_rows:
        return
    record = one.record
    study, intact = record["study"], record["intact"][0]
    rows = one.gates.to_pylist()
    penalties = sorted({row["penalty"] for row in rows})
    lasting = lasted(one)
    maps = [
        {"layer": layer, "head": head, "value": value, "low": None, "high": None,
         "baseline": None, "n": None}
        for (layer, head), value in lasting.items()
    ]  # fmt: skip
    path = _path(one, penalties, intact)
    seeds = len({row["seed"] for row in rows})
    ranked = sorted(lasting, key=lambda place: -lasting[place])
    yield Panel(
        f"Gates: {study['model']['name']} on {study['task']['name']}",
        [
            f"Every head has a gate that is trained with the task's loss and a penalty for being "
            f"open, on {record['sizes']['choice']:,} examples, with {seeds} "
            f"{'seed' if seeds == 1 else 'seeds'}; the penalty grows "
            "step by step. The metric is that of the heads that are open, the others giving "
            f"nothing, on {record['sizes']['test']:,} other examples. "
            + ("The encoder's weights were trained along."
               if study["options"]["schedule"]["encoder_rate"] else
               "The encoder's weights stayed as they were."),
            "Open longest: " + ", ".join(
                f"{head_name(*place)} ({lasting[place]:.0%})" for place in ranked[:SHOWN]
            ) + " (share of the steps and seeds at which the gate is open).",
        ],
        [
            Chart("gates-path", "heads open, and what the task keeps",
                  "A point is a penalty, its lines the range over seeds; dashed: the intact model.",
                  _drawing(intact),
                  other={"paths": path}),
            Chart("gates-lasting", "how long gates stay open",
                  "The share of steps and seeds at which the gate is open.",
                  heat_map(maps, "share"), maps),
        ],
        ("penalty", "heads open", f"{intact['metric']}", "range over seeds"),
        [
            (f"{row['penalty']:g}", f"{row['open']:.1f} ({row['least']} to {row['most']})",
             f"{row['value']:.3f}", f"{row['low']:.3f} to {row['high']:.3f}")
            for row in path
        ],
    )  # fmt: skip


def roles_that_stay(results: list[Results]) -> Iterator[Panel]:
    """Which roles survive: for gates and a scan of one model (Voita et al. 2019, figure 8)."""
    for one in results:
        for view in views(results) if one.gates.num_rows else []:
            same = view.model_record["sha256"] == one.record["study"]["model"]["sha256"]
            if same and view.weights != "random" and view.roles:
                yield _stay(one, view)


def _stay(one: Results, view: View) -> Panel:
    told = families.roles(view)
    open_: dict[tuple[float, str], list[bool]] = defaultdict(list)
    for row in one.gates.to_pylist():
        name = told.get(head_name(row["layer"], row["head"]), families.NO_ROLE)
        open_[row["penalty"], name].append(row["open"])
    penalties = sorted({penalty for penalty, _ in open_})
    sizes = Counter(told.values())
    names = [name for name, _ in sizes.most_common()]
    shares = {key: float(np.mean(some)) for key, some in open_.items()}
    bars = [
        {"penalty": f"{penalty:g}", "role": name, "heads": shares[penalty, name] * sizes[name]}
        for penalty in penalties for name in names
    ]  # fmt: skip
    study = one.record["study"]
    return Panel(
        f"Which roles stay? {study['model']['name']} on {study['task']['name']}, roles as on "
        f"{view.corpus}",
        [f"Roles as on {view.corpus}, each head by its most telling one; open heads, the mean over "
         "seeds, as the penalty grows."],
        [
            Chart("gates-roles", "open heads by role", "From left to right, open gates cost more.",
                  _bars([f"{one:g}" for one in penalties], names), other={"bars": bars})
        ],
        ("role", "heads", *(f"open at {penalty:g}" for penalty in penalties)),
        [
            (name, str(sizes[name]), *(f"{shares[penalty, name]:.0%}" for penalty in penalties))
            for name in names
        ],
    )  # fmt: skip


def _bars(penalties: list[str], names: list[str]) -> Drawing:
    inks = [*COLOURS, "#999999", "#b09c85", "#7e6148", "#91d1c2", "#8491b4", "#f39b7f"]
    drawing: Drawing = (
        alt.Chart(alt.NamedData(name="bars"))
        .mark_bar()
        .encode(
            x=alt.X("penalty:N", title="penalty of an open gate", sort=penalties,
                    axis=alt.Axis(labelAngle=0)),
            y=alt.Y("heads:Q", title="open heads"),
            color=alt.Color("role:N", sort=names,
                            scale=alt.Scale(domain=names, range=inks[: len(names)])),
            tooltip=["penalty:N", "role:N", alt.Tooltip("heads:Q", format=".1f")],
        )
        .properties(width=380, height=260)
    )  # fmt: skip
    return drawing


def lasted(one: Results) -> dict[Place, float]:
    """The share of steps and seeds at which each head's gate is open."""
    found: dict[Place, list[bool]] = defaultdict(list)
    for row in one.gates.to_pylist():
        found[row["layer"], row["head"]].append(row["open"])
    return {place: float(np.mean(some)) for place, some in found.items()}


def _path(one: Results, penalties: list[float], intact: Row) -> list[Row]:
    """By penalty: heads open and the metric, mean and range over seeds."""
    made = []
    curve = rows_of(one.pruning, metric=intact["metric"])
    for place, penalty in enumerate(penalties):
        some = [rows[place] for rows in _by_seed(curve).values()]
        counts, values = [row["kept"] for row in some], [row["value"] for row in some]
        made.append(
            {"penalty": penalty, "open": float(np.mean(counts)), "least": min(counts),
             "most": max(counts), "value": float(np.mean(values)), "low": min(values),
             "high": max(values)}
        )  # fmt: skip
    return made


def _by_seed(curve: list[Row]) -> dict[int, list[Row]]:
    """The rows of each seed, in the order of the penalties."""
    found: dict[int, list[Row]] = defaultdict(list)
    for row in curve:
        found[row["draw"]].append(row)
    return found


def _drawing(intact: Row) -> Drawing:
    metric = intact["metric"]
    base = alt.Chart(PATHS).encode(
        x=alt.X("open:Q", title="heads open", scale=alt.Scale(reverse=True))
    )
    up = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False))
    ink = COLOURS[2]
    whole = alt.Chart(alt.Data(values=[{"value": intact["value"]}]))
    drawing: Drawing = alt.layer(
        whole.mark_rule(strokeDash=[4, 3], color="#777").encode(y="value:Q"),
        base.mark_line(color=ink).encode(y=up),
        base.mark_rule(color=ink).encode(y="low:Q", y2="high:Q"),
        base.mark_rule(color=ink).encode(x="least:Q", x2="most:Q", y="value:Q"),
        base.mark_circle(color=ink, size=60).encode(
            y=up,
            tooltip=[alt.Tooltip("penalty:Q"), alt.Tooltip("open:Q", title="heads open"),
                     alt.Tooltip("value:Q", title=metric, format=".3f")],
        ),
    ).properties(width=380, height=260)  # fmt: skip
    return drawing
