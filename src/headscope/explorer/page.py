"""The live page as HTML: one file, whose script asks the server that sent it and nobody else."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from headscope.report.findings import by_kind, finding_of
from headscope.report.joined import numbers_of
from headscope.report.page import asset, environment, policy
from headscope.report.payload import packed_numbers, shown_role
from headscope.report.views import RANDOM, CorpusView, views
from headscope.runs import RunResults

TEXT = "The new vaccine is not safe for young children."
OTHERS = (
    "The new vaccine is safe for young children.",
    "The new vaccine is dangerous for kids.",
    "Young children should not get the new vaccine.",
    "The new toy is not safe for young children.",
)
"""What the page begins with; negation is hard for models of sentences."""
MOST = 60
"""Texts of the runs to pick from."""


def _texts(shown: list[CorpusView]) -> list[str]:
    """Texts on which the runs show heads, as far as their words are known; the shortest first."""
    texts = {
        " ".join(row.words)
        for view in shown
        for rows in view.examples.values()
        for row in rows
        if any(row.gold) and not row.queries
    }
    return sorted(texts, key=lambda text: (len(text), text))[:MOST]


def explorer_page(models: list[dict[str, str]], runs: list[RunResults]) -> str:
    """The page.

    Args:
        models: the `name` of each, and what it has on `top`.
        runs: what is known of their heads.
    """
    shown = [view for view in views(runs) if view.weights != RANDOM]
    known = [
        {
            "model": view.model.name,
            "roles": [shown_role(finding_of(view, role), view) for role in by_kind(view.roles)],
            "others": [packed_numbers(numbers, view) for numbers in numbers_of(view, runs)],
        }
        for view in shown
    ]
    start: dict[str, Any] = {"models": models, "known": known, "texts": _texts(shown)}
    start |= {"text": TEXT, "others": OTHERS}
    packed = base64.b64encode(zlib.compress(json.dumps(start).encode(), 9)).decode()
    script = asset("explorer.js")
    return (
        environment()
        .get_template("explorer.html")
        .render(
            policy=f"{policy(script)}; connect-src 'self'; form-action 'none'",
            style=asset("report.css"),
            script=script,
            start=packed,
        )
    )
