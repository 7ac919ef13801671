"""Everything that the author of a plug-in needs, in one place.

Declare your module as an entry point of one of the groups `headscope.analyses`,
`headscope.readers`, `headscope.adapters`, `headscope.tasks` or `headscope.experiments`; importing
it registers what it defines. `docs/plugins.md` walks through one of each, and
`headscope.testing` tells whether yours is well behaved.

>>> from headscope.plugin import Analysis, Mass, Mean, analysis
"""

from typing import TYPE_CHECKING

from headscope._util.lazy import attach

_NAMES = {
    "_util.progress": "NoProgress Progress",
    "analyses.base": "Analysis Arc Inputs Needs Scene analysis describe_class option",
    "cli.app": "verb",
    "corpus": "Annotation Corpus Example Frame Link Mention Pieces read",
    "corpus.readers": "reader",
    "errors": "HeadscopeError InputError ModelError",
    "evidence": "HEADS BestHead Exemplar Exemplars HeadRow Int32 Layout Mean RoleRule Statistic "
    "Table Tally Unit",
    "experiments.base": "Experiment run_study versions",
    "model": "Adapter Batch Model Route Top disable load",
    "model.attention": "ANY SELF At Band Best Block Entropy Kind Largest LargestFrom MapWatcher "
    "Mass Norms Received Request Rows Seen Site View Visible Watcher",
    "report.charts": "Chart datum head_datum heat_map",
    "report.sections": "Cell Section analysis_section card_lines run_sections summary_lines",
    "runs": "DataRecord ModelRecord ResultBuilder RunFolder RunResults Study TaskRecord",
    "tasks": "Case CaseBatch Task",
    "tasks.registry": "TaskRequest register_task",
}
"""The public names of each module."""
_MODULES = {
    name: f"headscope.{module}" for module, names in _NAMES.items() for name in names.split()
}
__all__ = sorted([*_MODULES, "register_adapter"])  # noqa: PLE0605  # a list, by sorted()

if not TYPE_CHECKING:  # a type checker must not accept every name
    _lazy, __dir__ = attach(__name__, _MODULES)

    def __getattr__(name: str) -> object:
        if name == "register_adapter":
            from headscope.model import register

            return register
        return _lazy(name)
