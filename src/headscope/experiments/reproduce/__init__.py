"""Reproduce: the numbers that a paper printed, computed again and set beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope._util.progress import Progress
    from headscope.model import Model
    from headscope.runs import RunResults


def reproduce(
    paper: str,
    *tables: str,
    model: Model | str | Path | None = None,
    data: str | Path | None = None,
    inputs: Mapping[str, str | Path] | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResults:
    """Compute a paper's numbers again, by its own conventions, and compare.

    Args:
        paper: `clark2019`, `kovaleva2019`, `voita2019`, `michel2019` or `kobayashi2020`.
        tables: parts of it, such as `table1` or `figure2`; none: the whole paper.
        model: None: the model of the paper, from the hub, where it was published.
        data: a folder in which inputs that are not given are looked for by the paths that the
            paper's file names; None: the folder that `HEADSCOPE_DATA` names.
        inputs: data by the name that the paper's file gives it: `{"treebank": "my.conllu"}`.
        limit: use at most so many texts of every input, for a trial.
        out: a run folder, which makes it resumable; None keeps the results in memory.

    >>> from headscope._util.progress import NoProgress
    >>> results = reproduce(
    ...     "clark2019", "table2", model="minilm", inputs={"coreference": "tour"},
    ...     data="nowhere", progress=NoProgress(),
    ... )
    >>> results.table("reproduced").num_rows
    17
    """
    from headscope.experiments.base import run_study
    from headscope.experiments.reproduce.compute import Reproduction
    from headscope.experiments.reproduce.inputs import Inputs
    from headscope.experiments.reproduce.paper import load_paper
    from headscope.model import Model, load

    published = load_paper(paper)
    numbers = published.select(tables)
    loaded = model if isinstance(model, Model) else load(model or published.model)
    given = Inputs.of(published, data, inputs or {}, limit)
    experiment = Reproduction(published, numbers, loaded, given)
    return run_study(experiment, out=out, progress=progress, command=command)
