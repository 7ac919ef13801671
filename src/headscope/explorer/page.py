"""The live page as HTML: one file, whose script asks the server that sent it and nobody else."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from headscope.report.findings import finding_of
from headscope.report.page import asset, environment, policy
from headscope.report.payload import shown_role
from headscope.report.views import RANDOM, views
from headscope.runs import RunResults

TEXT = "The new vaccine is not safe for young children."
OTHERS = (
    "The new vaccine is safe for young children.",
    "The new vaccine is dangerous for kids.",
    "Young children should not get the new vaccine.",
    "The new toy is not safe for young children.",
)
"""What the page begins with; negation is hard for models of sentences."""


def explorer_page(models: list[dict[str, str]], runs: list[RunResults]) -> str:
    """The page.

    Args:
        models: the `name` of each, and what it has on `top`.
        runs: what is known of their heads.
    """
    known = [
        {
            "model": view.model.name,
            "roles": [shown_role(finding_of(view, role), view) for role in view.roles],
        }
        for view in views(runs)
        if view.weights != RANDOM and view.roles
    ]
    start: dict[str, Any] = {"models": models, "known": known, "text": TEXT, "others": OTHERS}
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
