"""Tallies and statistics: how sure one can be of a number."""

from headscope.evidence import families
from headscope.evidence.exemplars import Exemplar, Exemplars
from headscope.evidence.harvest import Harvest
from headscope.evidence.interval import Estimate, estimate
from headscope.evidence.statistic import COLUMNS, Null, Statistic, Unit, best_rows, crossfit, rows
from headscope.evidence.tally import Shape, Tally

__all__ = [
    "COLUMNS",
    "Estimate",
    "Exemplar",
    "Exemplars",
    "Harvest",
    "Null",
    "Shape",
    "Statistic",
    "Tally",
    "Unit",
    "best_rows",
    "crossfit",
    "estimate",
    "families",
    "rows",
]
