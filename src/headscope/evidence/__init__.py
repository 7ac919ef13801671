"""Tallies and statistics: values with intervals, baselines and corrected tests.

The names below are imported on first use: of them only `Tally` needs torch.
"""

from typing import TYPE_CHECKING

from headscope._util.lazy import attach

if TYPE_CHECKING:
    from headscope.evidence.baselines import strongest
    from headscope.evidence.exemplars import Exemplar, Exemplars
    from headscope.evidence.few_cases import undecided
    from headscope.evidence.head_table import BEST, HEADS, BestHead, HeadRow
    from headscope.evidence.interval import Estimate, estimate
    from headscope.evidence.ranked_examples import (
        Candidates,
        RankedExample,
        RankedExamples,
        ShownText,
    )
    from headscope.evidence.role_rule import RoleKind, RoleRule
    from headscope.evidence.rows import best_rows, crossfit, head_rows
    from headscope.evidence.shard_result import ShardResult
    from headscope.evidence.statistic import Null, Statistic
    from headscope.evidence.table import Int32, Table
    from headscope.evidence.tally import Layout, Mean, Tally
    from headscope.evidence.unit import UNITS, Unit
    from headscope.evidence.untrained import Margins, margins

__all__ = [
    "BEST",
    "HEADS",
    "UNITS",
    "BestHead",
    "Candidates",
    "Estimate",
    "Exemplar",
    "Exemplars",
    "HeadRow",
    "Int32",
    "Layout",
    "Margins",
    "Mean",
    "Null",
    "RankedExample",
    "RankedExamples",
    "RoleKind",
    "RoleRule",
    "ShardResult",
    "ShownText",
    "Statistic",
    "Table",
    "Tally",
    "Unit",
    "best_rows",
    "crossfit",
    "estimate",
    "head_rows",
    "margins",
    "strongest",
    "undecided",
]

_MODULES = {
    "BEST": "headscope.evidence.head_table",
    "HEADS": "headscope.evidence.head_table",
    "UNITS": "headscope.evidence.unit",
    "BestHead": "headscope.evidence.head_table",
    "Candidates": "headscope.evidence.ranked_examples",
    "Estimate": "headscope.evidence.interval",
    "Exemplar": "headscope.evidence.exemplars",
    "Exemplars": "headscope.evidence.exemplars",
    "HeadRow": "headscope.evidence.head_table",
    "Int32": "headscope.evidence.table",
    "Null": "headscope.evidence.statistic",
    "RankedExample": "headscope.evidence.ranked_examples",
    "RankedExamples": "headscope.evidence.ranked_examples",
    "RoleKind": "headscope.evidence.role_rule",
    "RoleRule": "headscope.evidence.role_rule",
    "Layout": "headscope.evidence.tally",
    "Margins": "headscope.evidence.untrained",
    "Mean": "headscope.evidence.tally",
    "ShardResult": "headscope.evidence.shard_result",
    "ShownText": "headscope.evidence.ranked_examples",
    "Statistic": "headscope.evidence.statistic",
    "Table": "headscope.evidence.table",
    "Tally": "headscope.evidence.tally",
    "Unit": "headscope.evidence.unit",
    "best_rows": "headscope.evidence.rows",
    "crossfit": "headscope.evidence.rows",
    "estimate": "headscope.evidence.interval",
    "head_rows": "headscope.evidence.rows",
    "margins": "headscope.evidence.untrained",
    "strongest": "headscope.evidence.baselines",
    "undecided": "headscope.evidence.few_cases",
}
if not TYPE_CHECKING:  # a type checker must not accept every name
    __getattr__, __dir__ = attach(__name__, _MODULES)
