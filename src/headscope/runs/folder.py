"""A run folder that survives a kill at any moment.

`run.json` is written first and says what is run; after every shard the merged result so far
replaces the checkpoint; at the end come the tables, and last of all the status `complete`.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headscope._util.atomic import exclusive_folder, is_empty, write, write_text
from headscope.errors import RunError
from headscope.evidence import ShardResult
from headscope.runs.record import COMPLETE, RUNNING, Record, Study, read_record, study_to_json
from headscope.runs.results import RunResults


def check_folder(path: Path, study: Study) -> Record | None:
    """The record of a run of this very study in the folder; None where there is no run yet.

    Anything else in the folder is an error, before any work is done.
    """
    if not (path / "run.json").exists():
        if not is_empty(path):
            kind = "a folder with other things in it" if path.is_dir() else "a file"
            raise RunError(f"{path} is {kind}; give a new or empty folder")
        return None
    record = read_record(path)
    difference = _difference(study_to_json(record.study), study_to_json(study))
    if difference:
        raise RunError(f"{path} holds another run ({difference}); give another folder")
    return record


def _difference(before: dict[str, Any], wanted: dict[str, Any], path: str = "") -> str:
    """What differs first between two studies, in words."""
    for key in sorted(before.keys() | wanted.keys()):
        old, new = before.get(key), wanted.get(key)
        if isinstance(old, dict) and isinstance(new, dict) and old != new:
            # the options of analyses are options among others
            return _difference(old, new, path if path.endswith(f"{key} ") else f"{path}{key} ")
        if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            for one, other in zip(old, new, strict=True):
                if isinstance(one, dict) and isinstance(other, dict) and one != other:
                    return _difference(one, other, f"{path}{key} ")
        if old != new:
            return f"{path}{key}: {_short(old)} there, {_short(new)} here"
    return ""


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else text[:12] + "..."


class RunFolder:
    """An open run folder: one process writes to it at a time."""

    def __init__(
        self, path: Path, study: Study, command: list[str], system: dict[str, str]
    ) -> None:
        self.path = path
        earlier = check_folder(path, study)
        self._claim = ExitStack()
        self._claim.enter_context(exclusive_folder(path))
        self.record = earlier or Record(study, command, system, started=_now(), status=RUNNING)
        if earlier is None:
            self._write_record()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self._claim.close()

    def restore(self, part: int) -> tuple[int, ShardResult | None]:
        """How many shards of a part are done, and what they brought in."""
        try:
            with np.load(self._checkpoint(part), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
        except FileNotFoundError:
            return 0, None
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            damaged = f"{self._checkpoint(part)} is damaged ({error})"
            raise RunError(f"{damaged}; remove it to start this part again") from None
        return int(arrays.pop("done")), ShardResult.from_arrays(arrays)

    def keep(self, part: int, done: int, result: ShardResult) -> None:
        """Replace the checkpoint of a part by what its first `done` shards brought in."""
        stored = io.BytesIO()
        arrays: dict[str, Any] = {"done": np.array(done)} | result.arrays()
        np.savez(stored, **arrays)
        write(self._checkpoint(part), lambda stream: stream.write(stored.getbuffer()))

    def finish(self, results: RunResults) -> None:
        """Write the tables, then the record that says so, then drop the checkpoints."""
        for name, table in results.tables.items():
            write(self.path / f"{name}.parquet", _parquet(table))
        mine, its = self.record, results.record
        its.command, its.system, its.started = mine.command, mine.system, mine.started
        its.status, its.finished = COMPLETE, _now()
        self.record = its
        self._write_record()
        for old in self.path.glob("checkpoint-*.npz"):
            old.unlink()

    def _checkpoint(self, part: int) -> Path:
        return self.path / f"checkpoint-{part}.npz"

    def _write_record(self) -> None:
        text = json.dumps(self.record.to_json(), indent=2, ensure_ascii=False)
        write_text(self.path / "run.json", text)


def _parquet(table: pa.Table) -> Any:
    def fill(stream: BinaryIO) -> None:
        pq.write_table(table, stream, compression="zstd")

    return fill


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
