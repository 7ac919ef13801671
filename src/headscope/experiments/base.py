"""Experiments: prepared, run shard by shard, turned into tables and a page, all in one way."""

from __future__ import annotations

import platform
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from headscope._util.progress import Progress, progress_for_terminal
from headscope.runs import ResultBuilder, RunFolder, RunResults, Study, check_folder
from headscope.runs.record import COMPLETE


class Experiment(ABC):
    """A computation whose results go to a run folder.

    A subclass lives in `compute.py` of its experiment's folder; beside it stand the public
    function (`__init__.py`), its tables (`tables.py`), its page (`section.py`) and its verb
    (`command.py`). The constructor takes what the user asked for and does nothing costly.

    Attributes:
        name: as it stands in `run.json`.
    """

    name: ClassVar[str]

    @abstractmethod
    def study(self) -> Study:
        """What identifies the study; the same study in the same folder is resumed."""

    @abstractmethod
    def prepare(self, progress: Progress) -> None:
        """Do whatever can fail on bad input, before the folder is touched."""

    @abstractmethod
    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Do the work, shard by shard into the folder if there is one, and fill the tables."""


def run_study(
    experiment: Experiment,
    *,
    out: str | Path | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Run a study: load it if complete, resume it if interrupted, otherwise start it.

    The report is written beside its tables.

    Args:
        out: the run folder; None keeps the results in memory.
        command: what the user typed, for the record.
    """
    study = experiment.study()
    earlier = check_folder(Path(out), study) if out is not None else None
    if earlier and out is not None and earlier.status == COMPLETE:
        return RunResults.read(out)
    system = {"python": platform.python_version(), "platform": platform.platform()}
    typed = list(command) or sys.argv
    with progress or progress_for_terminal() as shown:
        experiment.prepare(shown)
        if out is None:
            results = experiment.compute(None).results(study)
            results.record.command, results.record.system = typed, system
            return results
        with RunFolder(Path(out), study, typed, system) as folder:
            results = experiment.compute(folder).results(study)
            folder.finish(results)
            results.report(Path(out) / "report.html")
            return results


def versions() -> dict[str, str]:
    """What a study's numbers depend on besides its inputs."""
    return {name: version(name) for name in ("headscope", "torch", "transformers")}
