"""Everything that the author of a plug-in needs, in one place.

Declare your module as an entry point of one of the groups `headscope.analyses`,
`headscope.readers`, `headscope.adapters`, `headscope.tasks` or `headscope.experiments`; importing
it registers what it defines. `docs/plugins.md` walks through one of each, and
`headscope.testing` tells whether yours is well behaved.

>>> from headscope.plugin import Analysis, Mass, Mean, analysis
"""

from typing import TYPE_CHECKING

from headscope._util.lazy import attach

if TYPE_CHECKING:
    from headscope._util.progress import NoProgress, Progress
    from headscope.analyses.base import (
        Analysis,
        Arc,
        Inputs,
        Needs,
        Scene,
        ScoredMean,
        analysis,
        describe_class,
        option,
    )
    from headscope.cli.app import verb
    from headscope.corpus import Annotation, Corpus, Example, Frame, Link, Mention, Pieces, read
    from headscope.corpus.readers import reader
    from headscope.errors import HeadscopeError, InputError, ModelError
    from headscope.evidence import (
        HEADS,
        BestHead,
        Candidates,
        HeadRow,
        Int32,
        Layout,
        Mean,
        RankedExample,
        RoleRule,
        ShownText,
        Statistic,
        Table,
        Tally,
        Unit,
    )
    from headscope.experiments.base import Experiment, run_study, versions
    from headscope.model import Adapter, Batch, Model, Route, Top, disable, load
    from headscope.model import register as register_adapter
    from headscope.model.attention import (
        ANY,
        SELF,
        At,
        Band,
        Best,
        Block,
        Entropy,
        Kind,
        Largest,
        LargestFrom,
        MapWatcher,
        Mass,
        Norms,
        Received,
        Request,
        Rows,
        Seen,
        Site,
        View,
        Visible,
        Watcher,
    )
    from headscope.report.charts import Chart, datum, head_datum, head_map
    from headscope.report.drawings import heat_map
    from headscope.report.sections import (
        Cell,
        HeadNumbers,
        NextStep,
        Section,
        analysis_section,
        card_lines,
        head_numbers,
        next_steps,
        run_sections,
        summary_lines,
    )
    from headscope.report.small_plots import Curve, Interval, Shares, Strip
    from headscope.runs import (
        DataRecord,
        ModelRecord,
        ResultBuilder,
        RunFolder,
        RunResults,
        Study,
        TaskRecord,
    )
    from headscope.tasks import Case, CaseBatch, Task
    from headscope.tasks.registry import TaskRequest, register_task

__all__ = [
    "ANY",
    "HEADS",
    "SELF",
    "Adapter",
    "Analysis",
    "Annotation",
    "Arc",
    "At",
    "Band",
    "Batch",
    "Best",
    "BestHead",
    "Block",
    "Candidates",
    "Case",
    "CaseBatch",
    "Cell",
    "Chart",
    "Corpus",
    "Curve",
    "DataRecord",
    "Entropy",
    "Example",
    "Experiment",
    "Frame",
    "HeadNumbers",
    "HeadRow",
    "HeadscopeError",
    "InputError",
    "Inputs",
    "Int32",
    "Interval",
    "Kind",
    "Largest",
    "LargestFrom",
    "Layout",
    "Link",
    "MapWatcher",
    "Mass",
    "Mean",
    "Mention",
    "Model",
    "ModelError",
    "ModelRecord",
    "Needs",
    "NextStep",
    "NoProgress",
    "Norms",
    "Pieces",
    "Progress",
    "RankedExample",
    "Received",
    "Request",
    "ResultBuilder",
    "RoleRule",
    "Route",
    "Rows",
    "RunFolder",
    "RunResults",
    "Scene",
    "ScoredMean",
    "Section",
    "Seen",
    "Shares",
    "ShownText",
    "Site",
    "Statistic",
    "Strip",
    "Study",
    "Table",
    "Tally",
    "Task",
    "TaskRecord",
    "TaskRequest",
    "Top",
    "Unit",
    "View",
    "Visible",
    "Watcher",
    "analysis",
    "analysis_section",
    "card_lines",
    "datum",
    "describe_class",
    "disable",
    "head_datum",
    "head_map",
    "head_numbers",
    "heat_map",
    "load",
    "next_steps",
    "option",
    "read",
    "reader",
    "register_adapter",
    "register_task",
    "run_sections",
    "run_study",
    "summary_lines",
    "verb",
    "versions",
]
_NAMES = {
    "_util.progress": "NoProgress Progress",
    "analyses.base": "Analysis Arc Inputs Needs Scene ScoredMean analysis describe_class option",
    "cli.app": "verb",
    "corpus": "Annotation Corpus Example Frame Link Mention Pieces read",
    "corpus.readers": "reader",
    "errors": "HeadscopeError InputError ModelError",
    "evidence": "HEADS BestHead Candidates HeadRow Int32 Layout Mean RankedExample RoleRule "
    "ShownText Statistic Table Tally Unit",
    "experiments.base": "Experiment run_study versions",
    "model": "Adapter Batch Model Route Top disable load",
    "model.attention": "ANY SELF At Band Best Block Entropy Kind Largest LargestFrom MapWatcher "
    "Mass Norms Received Request Rows Seen Site View Visible Watcher",
    "report.charts": "Chart datum head_datum head_map",
    "report.drawings": "heat_map",
    "report.sections": "Cell HeadNumbers NextStep Section analysis_section card_lines head_numbers "
    "next_steps run_sections summary_lines",
    "report.small_plots": "Curve Interval Shares Strip",
    "runs": "DataRecord ModelRecord ResultBuilder RunFolder RunResults Study TaskRecord",
    "tasks": "Case CaseBatch Task",
    "tasks.registry": "TaskRequest register_task",
}
"""The public names of each module."""
_MODULES = {
    name: f"headscope.{module}" for module, names in _NAMES.items() for name in names.split()
}

if not TYPE_CHECKING:  # a type checker must not accept every name
    _lazy, _ = attach(__name__, _MODULES)

    def __getattr__(name: str) -> object:
        if name == "register_adapter":
            from headscope.model import register

            return register
        return _lazy(name)


def __dir__() -> list[str]:
    return sorted(__all__)
