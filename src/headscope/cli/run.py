"""Running an experiment from the command line: load what it needs, run it, show its results."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.cli import options
from headscope.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from headscope.runs import RunResults
    from headscope.tasks import Task


def run_context() -> dict[str, Any]:
    """What every experiment is told besides its options: where to show progress, and the command
    for the run's record.
    """
    from headscope._util.progress import progress_for_terminal

    return {"progress": progress_for_terminal(), "command": ["headscope", *sys.argv[1:]]}


@dataclass(frozen=True)
class TaskRun(OptionGroup):
    """The options of every experiment on a task, and how it is run."""

    model: options.ModelName
    task_name: options.TaskName
    out: options.Out
    part: options.Part = "dev"
    glue_dir: options.GlueDir = None
    limit: options.Limit = None
    max_length: options.MaxLength = None
    figures: options.Figures = None
    device: options.Device = "cpu"
    languages: options.LanguagePair = None
    seed: options.Seed = 0
    verbose: options.Verbose = False
    as_json: options.Json = False

    def __call__(
        self,
        experiment: Callable[..., RunResults],
        *,
        dtype: str = "float32",
        run_folder: Path | None = None,
        **own: Any,
    ) -> None:
        """Load the task and the model, run the experiment, show its results.

        Args:
            run_folder: where the experiment writes its run, if that is not `out`.
            own: options of the experiment itself.
        """
        from headscope.model import load

        task, more = self._load_task()
        results = experiment(
            load(
                self.model,
                top=task.top,
                device=self.device,
                dtype=dtype,
                languages=options.language_pair(self.languages),
            ),
            task,
            out=self.out,
            max_length=self.max_length,
            seed=self.seed,
            **own,
            **more,
            **run_context(),
        )
        folder = run_folder or self.out
        show_result(results, folder, self.figures, self.as_json, self.verbose)

    def _load_task(self) -> tuple[Task, dict[str, Any]]:
        """The task, and what else the experiment is given."""
        from headscope.tasks import task

        return task(self.task_name, limit=self.limit, **self._data), {}

    @property
    def _data(self) -> dict[str, Any]:
        return {"part": self.part, "glue_dir": self.glue_dir, "seed": self.seed}


@dataclass(frozen=True)
class TwoPartRun(TaskRun):
    """The same with data to choose heads by, apart from those that results are stated on."""

    choose: options.Choose = None
    choose_limit: options.ChooseLimit = 1000

    def _load_task(self) -> tuple[Task, dict[str, Any]]:
        from headscope.tasks import two_parts

        chosen, tested = two_parts(
            self.task_name,
            choose=self.choose,
            limit=self.limit,
            choose_limit=self.choose_limit,
            **self._data,
        )
        return tested, {"choose": chosen}


MOST = 22
"""Lines of a summary on the terminal; three more say what is next and where the report is."""


def show_result(
    results: RunResults, folder: Path, figures: Path | None, as_json: bool, verbose: bool
) -> None:
    """Print the results of a run, and where its report is."""
    from headscope.cli.show import Screen, result_data
    from headscope.report.joined import what_next

    page = (folder / "report.html").resolve()
    if not page.exists():
        results.report(page)
    if figures is not None:
        results.figures(figures)
    if as_json:
        print(json.dumps(result_data(results, page), indent=2))
        return
    screen = Screen()
    if verbose:
        screen.results(results)
    else:
        screen.summary([results], MOST)
        if results.corpora:
            screen.line(f"every head in words: headscope roles {folder}")
        for step in what_next([results], most=1):
            screen.line(f"next: {step.command}")
    screen.path(page)
