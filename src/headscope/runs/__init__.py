"""The run folder: what was run, what is finished, what was found; written atomically."""

from headscope.runs.builder import ResultBuilder
from headscope.runs.engine import Watch, run
from headscope.runs.folder import RunFolder, check_folder
from headscope.runs.head import BestResult, HeadResult
from headscope.runs.record import (
    FORMAT,
    AnalysisRecord,
    CorpusRecord,
    DataRecord,
    ModelRecord,
    Record,
    Study,
    TaskRecord,
    WindowsRecord,
)
from headscope.runs.results import RunResults, open_run

__all__ = [
    "FORMAT",
    "AnalysisRecord",
    "BestResult",
    "CorpusRecord",
    "DataRecord",
    "HeadResult",
    "ModelRecord",
    "Record",
    "ResultBuilder",
    "RunFolder",
    "RunResults",
    "Study",
    "TaskRecord",
    "Watch",
    "WindowsRecord",
    "check_folder",
    "open_run",
    "run",
]
