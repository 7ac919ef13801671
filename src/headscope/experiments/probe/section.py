"""Probes: Clark's table 3 for this model and treebank, and the heads that the probes use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.evidence.correlation import rank_correlation
from headscope.report.numbers import interval, number
from headscope.report.sections import Panel
from headscope.runs import Results, rows_of

if TYPE_CHECKING:
    from headscope.report.views import CorpusView

Row = dict[str, Any]
PUBLISHED = {
    ("attention", "trained"): "61", ("attention and words", "trained"): "77",
    ("words and distance", "none"): "58", ("attention and words", "random layers"): "30",
    ("right-branching", "none"): "26.3",
}  # fmt: skip
"""UAS of BERT-base on the Wall Street Journal with GloVe (Clark et al. 2019, table 3)."""
MEASURES = ("UAS", "UAS as trees", "LAS", "control", "selectivity")
WHOSE = {"trained": "", "none": "", "random layers": ", random layers", "random": ", all random"}


def panel(view: CorpusView) -> Panel | None:
    """The table of probes and baselines."""
    rows = rows_of(view.results.probes, corpus=view.corpus)
    if not rows:
        return None
    shown = [name for name in MEASURES if any(row["measure"] == name for row in rows)]
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault((row["probe"], row["weights"]), {})[row["measure"]] = row
    sizes = view.results.record["sentences"]
    study = view.results.record["study"]
    vectors = study["options"]["vectors"]
    words = vectors[0] if vectors else "the model's own input embeddings"
    first = rows[0]
    text = (
        f"Unlabelled attachment on {first['n']:,} words without punctuation, each probe trained "
        f"with {study['options']['seeds']} seeds on {sizes['train']:,} sentences, stopped by "
        f"{sizes['dev']:,} others. Words: {words}. Control: each word type has been assigned for "
        "good to the first word, the last, or itself; selectivity is what a probe finds beyond "
        "what it could learn by heart (Hewitt and Liang 2019). Random layers: the same model, "
        "embeddings kept. In the last column BERT-base on the whole Wall Street Journal, for "
        "comparison."
    )
    return Panel(
        "Probes", [text], [],
        ("probe", *shown, "over seeds", "Clark et al."),
        [
            (f"{probe}{WHOSE[weights]}", *(_cell(found.get(name)) for name in shown),
             _spread(found.get("UAS")), PUBLISHED.get((probe, weights), "-"))
            for (probe, weights), found in sorted(lines.items(), key=_order)
        ],
    )  # fmt: skip


def _order(line: tuple[tuple[str, str], dict[str, Row]]) -> float:
    return -float(line[1]["UAS"]["value"]) if "UAS" in line[1] else 0.0


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    unit = "points" if row["measure"] == "selectivity" else "share"
    return f"{number(row['value'], unit)} {interval(row, unit)}"


def _spread(row: Row | None) -> str:
    return f"±{100 * row['spread']:.2f}" if row and row["spread"] is not None else "-"


def use_and_accuracy(results: list[Results]) -> Iterator[Panel]:
    """Do probes use the heads that find syntactic heads by themselves? For a probe and a scan."""
    for probed in results:
        for scanned in results:
            if probed.probes.num_rows and _same(probed, scanned):
                yield from _together(probed, scanned)


def _same(probed: Results, scanned: Results) -> bool:
    names = [one["analysis"] for one in scanned.record.get("analyses", ())]
    models = (one.record["study"]["model"]["sha256"] for one in (probed, scanned))
    return "dependencies" in names and len(set(models)) == 1


def _together(probed: Results, scanned: Results) -> Iterator[Panel]:
    used = _largest(rows_of(probed.heads, analysis="probe", group="attention"))
    for corpus in scanned.record["corpora"]:
        if corpus["weights"] not in ("trained", "tuned"):
            continue
        rows = rows_of(
            scanned.heads, analysis="dependencies", statistic="accuracy", group="all",
            corpus=corpus["corpus"], weights=corpus["weights"],
        )  # fmt: skip
        alone = _largest([row for row in rows if row["direction"] in ("row", "column")])
        heads = sorted(used.keys() & alone.keys())
        found = rank_correlation(
            np.array([used[head] for head in heads]), np.array([alone[head] for head in heads])
        )
        if found is not None:
            yield Panel(
                f"Do probes use the heads that parse alone? {probed.record['corpora'][0]['corpus']}"
                f" and {corpus['corpus']}",
                [
                    "Spearman's correlation of a head's use by the probe of attention with the "
                    f"share of syntactic heads that it finds by itself: {found}."
                ],
            )


def _largest(rows: list[Row]) -> dict[tuple[int, int], float]:
    """The larger of two directions, by layer and head."""
    found: dict[tuple[int, int], float] = {}
    for row in rows:
        if row["head"] is not None:
            key = (row["layer"], row["head"])
            found[key] = max(found.get(key, row["value"]), row["value"])
    return found
