"""A study that is kept: found done, gone on with, or begun, in a run folder or in memory."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headscope._util.progress import Progress, progress_for_terminal
from headscope.runs import FORMAT, Results, RunFolder, check_folder
from headscope.runs.found import Found

Work = Callable[[RunFolder | None], Results]
"""Does the work, shard by shard into the folder if there is one, and makes the tables."""


def recorded(
    study: dict[str, Any],
    prepare: Callable[[Progress], Work],
    *,
    out: str | Path | None,
    progress: Progress | None,
    command: Sequence[str],
) -> Found:
    """Do a study unless it is done already; the report is written beside its tables.

    Args:
        study: what identifies it; the same study in the same folder goes on where it stopped.
        prepare: whatever can fail on bad input, before the folder is touched.
    """
    earlier = check_folder(Path(out), study) if out is not None else None
    if earlier and earlier["status"] == "complete":
        return Found.read(out or "")
    system = {"python": platform.python_version(), "platform": platform.platform()}
    about = {"command": list(command) or sys.argv, "system": system, "format": FORMAT}
    with progress or progress_for_terminal() as shown:
        work = prepare(shown)
        if out is None:
            return _found(work(None), about, study)
        with RunFolder(Path(out), study, about) as folder:
            found = _found(work(folder), about, study)
            folder.finish(found)
            found.report(Path(out) / "report.html")
            return found


def _found(results: Results, about: dict[str, Any], study: dict[str, Any]) -> Found:
    results.record = about | {"study": study} | results.record
    return Found(**vars(results))


def versions() -> dict[str, str]:
    """What a study's numbers depend on besides its inputs."""
    return {name: version(name) for name in ("headscope", "torch", "transformers")}
