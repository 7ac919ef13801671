"""Run folders: killed at any moment and run again, they end as if nothing had happened."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from headscope.runs.found import Found

from headscope._util.interrupt import interruptible
from headscope._util.progress import NoProgress
from headscope.errors import RunError
from headscope.evidence import ShardResult
from headscope.experiments.scan import scan
from headscope.experiments.scan.passes import Options
from headscope.model import Model
from headscope.runs import RunFolder, run
from tests.integration.test_scan import letters
from tests.tiny import tiny
from tests.unit.examples import corpus_of

SMALL_SHARDS = (
    "import sys, headscope.experiments.scan.passes as passes\n"
    "passes.SHARD = 48\n"
    "from headscope.cli.main import main\n"
    "main()\n"
)


def start(*arguments: object) -> subprocess.Popen[str]:
    """The real command in a process of its own, with shards so small that many are done."""
    return subprocess.Popen(
        [sys.executable, "-c", SMALL_SHARDS, *map(str, arguments)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def corpus_file(folder: Path, texts: int = 720) -> Path:
    path = folder / "corpus.txt"
    rng = random.Random(1)
    words = [
        "the",
        "cat",
        "dog",
        "saw",
        "ran",
        "a",
        "house",
        "in",
        "on",
        "red",
        "old",
        "very",
        "quickly",
        "tree",
        ".",
        ",",
    ]
    lines = [" ".join(rng.choices(words, k=rng.randint(3, 24))) for _ in range(texts)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def wait_for_checkpoint(process: subprocess.Popen[str], run: Path, after: float) -> None:
    checkpoint = run / "checkpoint-0.npz"
    while process.poll() is None:
        if checkpoint.exists() and checkpoint.stat().st_mtime > after:
            return
        time.sleep(0.01)


def left_over(run: Path) -> list[str]:
    return sorted(p.name for p in run.iterdir() if p.suffix == ".part")


COMPLETE = [
    ".lock",
    "arcs.parquet",
    "best.parquet",
    "distances.parquet",
    "families.parquet",
    "heads.parquet",
    "maps.parquet",
    "report.html",
    "run.json",
]


@pytest.mark.xdist_group("processes")
def test_killed_and_run_again_equals_an_uninterrupted_run(tmp_path: Path) -> None:
    corpus = corpus_file(tmp_path)
    whole = start("scan", "minilm", corpus, "-o", tmp_path / "whole")
    run, rng, kills = tmp_path / "killed", random.Random(2), 0
    for _ in range(4):
        began = time.time()
        process = start("scan", "minilm", corpus, "-o", run)
        wait_for_checkpoint(process, run, began)
        time.sleep(rng.random() * 0.4)
        if process.poll() is None:
            kills += 1
        process.send_signal(signal.SIGKILL)
        process.communicate()
        json.loads((run / "run.json").read_text())  # whatever is there is whole
    assert kills >= 2
    last = start("scan", "minilm", corpus, "-o", run)
    _, said = last.communicate()
    assert last.returncode == 0, said
    whole.communicate()
    assert whole.returncode == 0
    for name in ("heads", "best", "maps", "arcs"):
        ours, theirs = (
            pq.read_table(tmp_path / r / f"{name}.parquet") for r in ("killed", "whole")
        )
        assert ours.equals(theirs), name
    assert sorted(path.name for path in run.iterdir()) == COMPLETE


@pytest.mark.xdist_group("processes")
def test_ctrl_c_is_one_sentence_and_resumes(tmp_path: Path) -> None:
    corpus, run = corpus_file(tmp_path), tmp_path / "run"
    process = start("scan", "minilm", corpus, "-o", run)
    wait_for_checkpoint(process, run, 0)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate()
    assert process.returncode == 130, said
    assert said.strip().endswith("interrupted; the same command goes on where it stopped")
    assert "Traceback" not in said
    assert out == ""
    assert left_over(run) == []
    again = start("scan", "minilm", corpus, "-o", run, "--json")
    out, said = again.communicate()
    assert again.returncode == 0, said
    assert json.loads(out)["report"] == str(run.resolve() / "report.html")


def test_ctrl_c_that_a_library_swallows_is_heeded_all_the_same() -> None:
    done = []

    def work(shard: int) -> ShardResult:
        if shard == 1:
            with contextlib.suppress(KeyboardInterrupt):  # as a library that catches everything
                signal.raise_signal(signal.SIGINT)
        done.append(shard)
        return ShardResult()

    with pytest.raises(KeyboardInterrupt), interruptible():
        run(range(4), work)
    assert done == [0, 1]
    run(range(2), work)  # what was asked for once is not asked for for ever


def test_a_finished_run_is_read_and_not_done_again(tmp_path: Path, minilm: Model) -> None:
    again_and_again = partial(scan, out=tmp_path / "run", only=["focus"], progress=NoProgress())
    corpus = corpus_of(letters(40))
    first = again_and_again(minilm, corpus)
    stamp = (tmp_path / "run" / "heads.parquet").stat().st_mtime_ns
    again = again_and_again(minilm, corpus)
    assert again.heads.equals(first.heads)
    assert (tmp_path / "run" / "heads.parquet").stat().st_mtime_ns == stamp
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["status"] == "complete"
    assert record["study"]["model"]["sha256"] == minilm.sha256
    assert record["study"]["data"][0]["sha256"]


def test_another_study_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    run, corpus = tmp_path / "run", corpus_of(letters(40))
    scan(tiny("bert"), corpus, out=run, only=["focus"], progress=NoProgress())
    for model, data, options, said in (
        (tiny("bert", seed=2), corpus, Options(), "model sha256"),
        (tiny("bert"), corpus_of(letters(40), "other"), Options(), "data name"),
        (tiny("bert"), corpus, Options(max_length=30), "options max_length"),
    ):
        with pytest.raises(RunError, match=said):
            scan(model, data, out=run, only=["focus"], options=options, progress=NoProgress())
    with pytest.raises(RunError, match="analyses"):
        scan(tiny("bert"), corpus, out=run, only=["confidence"], progress=NoProgress())


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    corpus = corpus_of(letters(20))
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="is a file"):
        scan(tiny("bert"), corpus, out=tmp_path / "file", progress=NoProgress())
    with pytest.raises(RunError, match="other things in it"):
        scan(tiny("bert"), corpus, out=tmp_path, progress=NoProgress())
    with pytest.raises(RunError, match="not a run folder"):
        Found.read(tmp_path)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "run.json").write_text('{"status": "running", "study": {}}')
    with pytest.raises(RunError, match="not finished"):
        Found.read(tmp_path / "half")
    (tmp_path / "half" / "run.json").write_text('{"status": "complete", "format": 1}')
    with pytest.raises(RunError, match="another version of headscope"):
        Found.read(tmp_path / "half")
    (tmp_path / "half" / "run.json").write_text("{")
    with pytest.raises(RunError, match="not a run's record"):
        scan(tiny("bert"), corpus, out=tmp_path / "half", progress=NoProgress())


def test_what_a_killed_process_leaves_is_no_hindrance(tmp_path: Path) -> None:
    """Killed between making the folder and writing its record, or while writing a file."""
    run = tmp_path / "run"
    run.mkdir()
    (run / ".lock").touch()
    (run / "tmpabc.run.json.part").write_text("{")
    corpus = corpus_of(letters(30))
    scan(tiny("bert"), corpus, out=run, only=["focus", "distances"], progress=NoProgress())
    assert sorted(path.name for path in run.iterdir()) == COMPLETE


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        RunFolder(tmp_path / "run", {"a": 1}, {}),
        pytest.raises(RunError, match="being written by another headscope"),
    ):
        RunFolder(tmp_path / "run", {"a": 1}, {})


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", {"a": 1}, {}) as folder:
        (tmp_path / "run" / "checkpoint-0.npz").write_bytes(b"PK\x03\x04 not a zip")
        with pytest.raises(RunError, match="is damaged"):
            folder.restore(0)
