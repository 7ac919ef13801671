"""Run folders: killed at any moment and run again, they end as if nothing had happened."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import headscope as hs
from headscope._util.interrupt import interruptible
from headscope._util.progress import NoProgress
from headscope.errors import RunError
from headscope.evidence import Exemplar, Exemplars, Layout, ShardResult, Tally
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from headscope.report.page import render
from headscope.runs import FORMAT, ModelRecord, RunFolder, Study, run
from tests.commands import Command
from tests.integration.test_scan import letters
from tests.pages import page_views
from tests.tiny import tiny
from tests.unit.examples import corpus_of

SMALL_SHARDS = "import headscope.experiments.scan.settings as settings\nsettings.SHARD = 30\n"


def start(*arguments: object) -> Command:
    """The real command in a process of its own, with shards so small that many are done."""
    return Command(["headscope", *map(str, arguments)], Path.cwd(), before=SMALL_SHARDS)


def corpus_file(folder: Path, texts: int = 384) -> Path:
    path = folder / "corpus.txt"
    rng = random.Random(1)
    words = ["the", "cat", "dog", "saw", "ran", "a", "house", "in", "on", "red", "old", "very"]
    words += ["quickly", "tree", ".", ","]
    lines = [" ".join(rng.choices(words, k=rng.randint(3, 24))) for _ in range(texts)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def wait_for_checkpoint(process: Command, run: Path, after: float) -> None:
    """Wait until a process has kept some of its work: of an untrained network, or of a shard."""
    while process.running:
        kept = run.glob("checkpoint-*.npz") if run.exists() else iter(())
        with contextlib.suppress(FileNotFoundError):  # finished groups are tidied away
            if any(checkpoint.stat().st_mtime > after for checkpoint in kept):
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

STUDY = Study(ModelRecord("tiny", "bert", 3, 4, 62, 0, "", None, "float32"), {}, {})


def shard_result(value: float, name: str, layout: Layout) -> ShardResult:
    """What a shard of one example brings in."""
    result = ShardResult()
    shape = (layout.buckets, layout.layers, layout.heads, 1)
    result.tallies["both"] = Tally.of(np.full(shape, value), np.ones((*shape[:2], 1, 1)))
    result.tallies[f"only {name}"] = Tally.of(np.full(shape, -value), np.ones((*shape[:2], 1, 1)))
    result.exemplars["texts"] = Exemplars(4)
    result.exemplars["texts"].offer(Exemplar(int(value), name, {}, {"map": np.full(2, value)}))
    result.counts["examples"] = 1
    result.columns["predictions"] = np.array([[value]])
    return result


def test_results_of_shards_add_up(tmp_path: Path) -> None:
    """In memory, and from the checkpoint that a killed process leaves."""
    layout, names = Layout(buckets=3, layers=2, heads=2), ("a", "b", "c")

    def work(number: int) -> ShardResult:
        return shard_result(float(number), names[number - 1], layout)

    def stop_before_last(number: int) -> ShardResult:
        if number == len(names):
            raise KeyboardInterrupt
        return work(number)

    with RunFolder(tmp_path / "run", STUDY, [], {}) as folder:
        with pytest.raises(KeyboardInterrupt):
            run(range(1, 4), stop_before_last, folder)
        resumed = run(range(1, 4), work, folder)
    for total in (run(range(1, 4), work), resumed):
        assert (total.tallies["both"].sums == 1 + 2 + 3).all()
        assert (total.tallies["both"].counts == 3).all()
        for number, name in enumerate(names, 1):
            assert (total.tallies[f"only {name}"].sums == -number).all()
            assert (total.tallies[f"only {name}"].counts == 1).all()
        assert total.counts["examples"] == 3
        assert total.columns["predictions"].tolist() == [[1], [2], [3]]
        kept = {exemplar.id: exemplar.arrays["map"][0] for exemplar in total.exemplars["texts"]}
        assert kept == {"a": 1, "b": 2, "c": 3}


def test_killed_and_run_again_equals_an_uninterrupted_run(tmp_path: Path) -> None:
    corpus = corpus_file(tmp_path, 240)
    whole = start("scan", "minilm", corpus, "-o", tmp_path / "whole")
    run, rng, kills = tmp_path / "killed", random.Random(2), 0
    for _ in range(3):
        began = time.time()
        process = start("scan", "minilm", corpus, "-o", run)
        wait_for_checkpoint(process, run, began)
        time.sleep(rng.random() * 0.3)
        kills += process.running
        process.signal(signal.SIGKILL)
        process.wait()
        json.loads((run / "run.json").read_text())  # whatever is there is whole
    assert kills >= 2
    last = start("scan", "minilm", corpus, "-o", run)
    done = last.wait()
    assert done.returncode == 0, done.stderr
    assert whole.wait().returncode == 0
    for name in ("heads", "best", "maps", "arcs"):
        ours, theirs = (
            pq.read_table(tmp_path / r / f"{name}.parquet") for r in ("killed", "whole")
        )
        assert ours.equals(theirs), name
    assert sorted(path.name for path in run.iterdir()) == COMPLETE


def test_ctrl_c_is_one_sentence_and_resumes(tmp_path: Path) -> None:
    corpus, run = corpus_file(tmp_path), tmp_path / "run"
    only = ("--only", "focus,relative_position,dependencies")
    process = start("scan", "minilm", corpus, "-o", run, *only)
    wait_for_checkpoint(process, run, 0)
    process.signal(signal.SIGINT)
    done = process.wait()
    messages = done.stderr
    assert done.returncode == 130, messages
    assert messages.strip().endswith("interrupted; the same command resumes where it stopped")
    assert "Traceback" not in messages
    assert done.stdout == ""
    assert left_over(run) == []
    again = start("scan", "minilm", corpus, "-o", run, *only, "--json")
    done = again.wait()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["report"] == str(run.resolve() / "report.html")


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
    assert again.table("heads").equals(first.table("heads"))
    assert (tmp_path / "run" / "heads.parquet").stat().st_mtime_ns == stamp
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["status"] == "complete"
    assert record["study"]["model"]["sha256"] == minilm.sha256
    assert record["study"]["data"][0]["sha256"]


def test_another_study_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    run, corpus = tmp_path / "run", corpus_of(letters(40))
    scan(tiny("bert"), corpus, out=run, only=["focus"], progress=NoProgress())
    for model, data, settings, message in (
        (tiny("bert", seed=2), corpus, Settings(), "model sha256"),
        (tiny("bert"), corpus_of(letters(40), "other"), Settings(), "data name"),
        (tiny("bert"), corpus, Settings(max_length=30), "options max_length"),
    ):
        with pytest.raises(RunError, match=message):
            scan(model, data, out=run, only=["focus"], settings=settings, progress=NoProgress())
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
        hs.open(tmp_path)
    with RunFolder(tmp_path / "half", STUDY, [], {}):
        pass
    with pytest.raises(RunError, match="not finished"):
        hs.open(tmp_path / "half")
    path = tmp_path / "half" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "complete", "format": 1}))
    with pytest.raises(RunError, match="another version of headscope"):
        hs.open(tmp_path / "half")
    path.write_text("{")
    with pytest.raises(RunError, match=r"not a run folder: it has no readable run\.json"):
        scan(tiny("bert"), corpus, out=tmp_path / "half", progress=NoProgress())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run that is complete."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    only = ["focus", "distances", "special_tokens"]
    scan(tiny("bert"), corpus_of(letters(60)), out=folder, only=only, progress=NoProgress())
    return folder


DAMAGES: dict[str, bytes] = {
    "not UTF-8": b'{"status": "\xff\xfe"}',
    "empty": b"",
    "half": b'{"status": "complete", "form',
    "a list": b"[1, 2]",
    "a number": b"7",
    "deep": b"[" * 100_000,
    "no study": b'{"status": "complete", "format": 8}',
    "a study that is a list": b'{"status": "complete", "format": 8, "study": []}',
    "a study without a model": b'{"status": "complete", "format": 8, "study": {}}',
}
WRONG_TYPES: dict[str, object] = {
    "tables": "heads",
    "status": 3,
    "analyses": [{"analysis": 1}],
    "corpora": {"a": 1},
    "units": {"share": "percent"},
    "left_out": [],
    "command": None,
    "format": "8",
    "seconds": "long",
}


def assert_refused(folder: Path) -> None:
    """One error, in one line, that names the folder; from reading and from running again."""
    for attempt in (hs.open, partial(RunFolder, study=STUDY, command=[], system={})):
        with pytest.raises(RunError) as caught:
            attempt(folder)
        message = str(caught.value)
        assert str(folder) in message
        assert len(message.splitlines()) == 1


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_one_error(tmp_path: Path, damage: str) -> None:
    (tmp_path / "run.json").write_bytes(DAMAGES[damage])
    assert_refused(tmp_path)


@pytest.mark.parametrize("key", WRONG_TYPES)
def test_a_record_with_a_wrong_type_is_one_error(finished: Path, tmp_path: Path, key: str) -> None:
    record = json.loads((finished / "run.json").read_text(encoding="utf-8"))
    (tmp_path / "run.json").write_text(json.dumps(record | {key: WRONG_TYPES[key]}))
    assert_refused(tmp_path)


def test_tables_that_are_damaged_or_missing_are_one_error(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    (folder / "maps.parquet").write_bytes(b"PAR1 not a table PAR1")
    with pytest.raises(RunError, match="is damaged"):
        hs.open(folder)
    (folder / "maps.parquet").unlink()
    with pytest.raises(RunError, match="is damaged"):
        hs.open(folder)


def test_a_folder_of_format_7_stays_readable(finished: Path, tmp_path: Path) -> None:
    """Older versions listed best.parquet as `chosen`, wrote no units, and left fields out."""
    folder = tmp_path / "old"
    shutil.copytree(finished, folder)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["format"] == FORMAT == 8
    assert "best" in record["tables"]
    record["format"] = 7
    record["tables"] = [{"best": "chosen"}.get(name, name) for name in record["tables"]]
    del record["units"]
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    old, new = hs.open(folder), hs.open(finished)
    assert list(old.tables) == list(new.tables)
    for name in new.tables:
        assert old.table(name).equals(new.table(name))
    for statistic in ("entropy", "entropy_relative"):
        best = new.best("focus", statistic=statistic)
        assert repr(old.best("focus", statistic=statistic)) == repr(best)
    assert repr(old) == repr(new) != ""
    assert render([old]) == render([new])
    page = old.report(tmp_path / "old.html").read_text(encoding="utf-8")
    (view,) = page_views(page)
    assert {number["section"] for number in view["numbers"]} >= {"view-0-focus", "view-0-distances"}
    assert all(len(number["cells"]) == len(view["heads"]) == 12 for number in view["numbers"])


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
        RunFolder(tmp_path / "run", STUDY, [], {}),
        pytest.raises(RunError, match="being written by another headscope"),
    ):
        RunFolder(tmp_path / "run", STUDY, [], {})


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", STUDY, [], {}) as folder:
        (tmp_path / "run" / "checkpoint-0.npz").write_bytes(b"PK\x03\x04 not a zip")
        with pytest.raises(RunError, match="is damaged"):
            folder.restore(0)
