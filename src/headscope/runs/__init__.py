"""The run folder: what was run, what is finished, what was found; written atomically."""

from headscope.runs.engine import Watch, run
from headscope.runs.folder import RunFolder, check_folder
from headscope.runs.results import FORMAT, Results, rows_of, table_of

__all__ = ["FORMAT", "Results", "RunFolder", "Watch", "check_folder", "rows_of", "run", "table_of"]
