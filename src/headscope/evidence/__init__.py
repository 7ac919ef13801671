"""Tallies and statistics: how sure one can be of a number."""

from headscope.evidence import families
from headscope.evidence.exemplars import Exemplar, Exemplars
from headscope.evidence.harvest import Harvest
from headscope.evidence.head_table import BEST, HEADS, BestHead, HeadRow
from headscope.evidence.interval import Estimate, estimate
from headscope.evidence.role_rule import RoleRule
from headscope.evidence.statistic import Null, Statistic, best_rows, crossfit, head_rows
from headscope.evidence.table import Int32, Table
from headscope.evidence.tally import Layout, Mean, Tally
from headscope.evidence.unit import UNITS, Unit

__all__ = [
    "BEST",
    "HEADS",
    "UNITS",
    "BestHead",
    "Estimate",
    "Exemplar",
    "Exemplars",
    "Harvest",
    "HeadRow",
    "Int32",
    "Layout",
    "Mean",
    "Null",
    "RoleRule",
    "Statistic",
    "Table",
    "Tally",
    "Unit",
    "best_rows",
    "crossfit",
    "estimate",
    "families",
    "head_rows",
]
