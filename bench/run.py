"""`make bench`: ratios, both sides measured in the same run, written to bench/RESULTS.md."""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import torch

from bench.clark import clark
from bench.distances import distances_lines
from bench.probes import importance_lines, probes_table
from bench.pruned import pruned_table
from bench.scripts import padded_batches, sentence_by_sentence
from bench.sweep import sweep_table
from bench.timing import timed
from headscope import Settings, load, read, scan, task
from headscope._util.progress import NoProgress
from headscope.analyses import Inputs, analyses, choose
from headscope.corpus import Corpus, Pieces, pack, plan_batches
from headscope.experiments.scan.passes import Pass, Together
from headscope.experiments.scan.reading import shards, survey
from headscope.model import Batch, Model

RESULTS = Path(__file__).parent / "RESULTS.md"
PARTS = {
    "watch": "compared with a plain sdpa forward",
    "scripts": "Compared with typical scripts",
    "sweep": "Sweep over all heads",
    "shapes": "Cost of the analyses of shapes",
    "distances": "Distances between all pairs",
    "probes": "Training a probe",
    "importance": "Importance of all heads",
    "pruned": "Throughput of pruned models",
    "memory": "Peak memory",
}
"""The sections of RESULTS.md, each with a part of its title."""
BATCHES = 2
"""Batches that are timed together: one for each of two replicas."""
SHAPES = ("distances", "patterns", "repetition", "rollout", "value_norms")


def looking() -> list[str]:
    """Analyses of positions and language; shapes are timed separately."""
    return [name for name in analyses() if name not in SHAPES]


def passes(model: Model, corpus: Corpus) -> Pass:
    settings = Settings(max_length=model.max_length)
    texts = [
        kind
        for kind in choose(looking())
        if kind.inputs is Inputs.TEXTS and model.kind in kind.kinds
    ]
    surveyed = survey(model, corpus, texts, settings, NoProgress())
    kinds = [
        kind for kind in texts if kind.annotation is None or surveyed.annotated[kind.annotation]
    ]
    return Pass(model, corpus, surveyed, kinds, settings, NoProgress())


@torch.inference_mode()
def plain_forward(model: Model, batch: Batch) -> None:
    """The plain sdpa forward of a batch."""
    model.network(
        input_ids=batch.ids, attention_mask=batch.real.long(), token_type_ids=batch.segments
    )


def watched(
    plain: Model, model: Model, corpus: Corpus, rounds: int, length: int | None = None
) -> float:
    """Scan against forward: batch by batch, both sides in turn, best of `rounds` for either.

    Two copies of the model, so that one can be watched while the other is left alone.
    """
    one = passes(model, corpus)
    total = [0.0, 0.0]
    with model.watch(*one.start()) as tap:
        for shard in shards(model, corpus, one.settings):
            pieces = shard if length is None else joined(model, shard, length)
            for places in plan_batches([len(one) for one in pieces], one.settings.budget):
                takes = []
                for _ in range(rounds):  # a batch of its own: what it keeps must be paid each time
                    batch = model.batch([pieces[place] for place in places])
                    before = timed(partial(plain_forward, plain, batch))
                    takes.append((before, timed(partial(tap.forward, batch))))
                total[0] += min(before for before, _ in takes)
                total[1] += min(after for _, after in takes)
    return total[1] / total[0]


def joined(model: Model, shard: list[Pieces], length: int) -> list[Pieces]:
    """Texts of up to `length` pieces, made by joining the sentences of a shard with their trees."""
    sizes = (
        (replace(one.example, document="all"), len(one) - model.num_special_tokens) for one in shard
    )
    texts = list(islice(pack(sizes, length - model.num_special_tokens), 16384 // length))
    return [one for one in model.encode(texts, length) if len(one) > length // 2]


def peak_memory(data: Path, limit: int) -> int:
    """Peak resident memory of a scan of `limit` sentences, in a separate process (KiB)."""
    code = (
        "import resource, sys\n"
        "from headscope import load, read, scan\n"
        "from headscope._util.progress import NoProgress\n"
        "scan(load('minilm'), read(sys.argv[1], limit=int(sys.argv[2])), progress=NoProgress())\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    command = [sys.executable, "-c", code, str(data), str(limit)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=3, help="repetitions per batch; the fastest counts"
    )
    parser.add_argument("--limit", type=int, default=None, help="number of sentences to use")
    parser.add_argument("--only", default=",".join(PARTS), help="sections to measure again")
    args = parser.parse_args()
    data = Path(os.environ["HEADSCOPE_DATA"])
    models = os.environ.get("HEADSCOPE_MODELS")
    kept = sections()
    wsj = read(data / "wsj" / "wsj_0001-0199.sd-basic.conllx.gz", limit=args.limit)
    makers: dict[str, Callable[[], list[str]]] = {
        "watch": lambda: watch_table(data, wsj, models, args.rounds),
        "scripts": lambda: scripts_table(load("minilm"), wsj),
        "sweep": lambda: sweep_table(Path(models), data) if models else [],
        "shapes": lambda: shapes_table(models, wsj, 2 * args.rounds),
        "distances": lambda: distances_table(Path(models), wsj, args.rounds) if models else [],
        "probes": lambda: probes_table(
            load("minilm"),
            replace(wsj, limit=args.limit or 1024),
            data / "glove" / "glove6B.100d.subset.fp16.npz",
            args.rounds,
        ),
        "importance": lambda: importance_table(data, models, args.rounds),
        "pruned": lambda: pruned_table(
            {"minilm": load("minilm")}
            | ({"gte-small": load(Path(models) / "gte-small")} if models else {}),
            replace(wsj, limit=200),
        ),
        "memory": lambda: memory_table(data),
    }
    for part in args.only.split(","):
        kept[part] = "\n".join(makers[part]()).strip()
    top = [
        "# Benchmarks",
        "",
        "Made by `make bench`. Every number is a ratio of two measurements from the same run; "
        "absolute times are not kept, because machines differ. Single sections can be measured "
        "again (`python -m bench.run --only scripts,sweep`).",
        "",
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"torch {torch.__version__} with {torch.get_num_threads()} threads, float32; "
        f"{sum(1 for _ in wsj):,} sentences of the WSJ sample.",
    ]
    text = "\n\n".join(["\n".join(top), *(kept[part] for part in PARTS if kept.get(part))])
    RESULTS.write_text(text + "\n", encoding="utf-8")
    print(text)


def sections() -> dict[str, str]:
    """The sections that RESULTS.md has already, by name."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    found = [f"## {one}".strip() for one in text.split("\n## ")[1:]]
    return {
        part: one
        for part, title in PARTS.items()
        for one in found
        if title in one.partition("\n")[0]
    }


def watch_table(data: Path, wsj: Corpus, models: str | None, rounds: int) -> list[str]:
    """A scan compared with the plain forward."""
    pairs = {"minilm": (load("minilm"), load("minilm"))}
    if models:
        pairs["gte-small"] = (load(Path(models) / "gte-small"), load(Path(models) / "gte-small"))
    lines = [
        "## A scan (analyses of positions and language) compared with a plain sdpa forward of the "
        "same batches",
        "",
        "Time of the scan divided by time of the forward. Reading and tokenizing are excluded on "
        f"both sides; the fastest of {rounds} repetitions of each batch counts.",
        "",
        "| model | WSJ sample (target: 1.35) | texts of 128 tokens | texts of 512 tokens |",
        "| --- | --- | --- | --- |",
    ]
    for name, pair in pairs.items():
        cells = [watched(*pair, wsj, rounds)]
        some = read(data / "wsj" / "wsj_0001-0199.sd-basic.conllx.gz", limit=1024)
        cells += [watched(*pair, some, rounds, length) for length in (128, 512)]
        lines.append(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
        print(lines[-1], flush=True)
    return lines


def scripts_table(model: Model, wsj: Corpus) -> list[str]:
    """Complete jobs, from file to numbers; headscope also computes intervals, tests and maps."""
    scan(model, replace(wsj, limit=64), only=looking(), progress=NoProgress())  # warm up
    ours = timed(lambda: scan(model, wsj, only=looking(), progress=NoProgress()))
    model.network.set_attn_implementation("eager")
    single = timed(lambda: sentence_by_sentence(model, wsj))
    padded = timed(lambda: padded_batches(model, wsj, 128, 32))
    with tempfile.TemporaryDirectory() as folder:
        stored = timed(lambda: clark(model, wsj, Path(folder)))
    model.network.set_attn_implementation("sdpa")
    return [
        "",
        "## Compared with typical scripts (MiniLM, WSJ sample)",
        "",
        "| script (eager, `output_attentions=True`, numpy) | times slower than `hs.scan` |",
        "| --- | --- |",
        f"| sentence by sentence (target: 2.3) | {single / ours:.2f} |",
        f"| batches of 32 padded to 128 (target: 3) | {padded / ours:.2f} |",
        "| Clark's procedure: maps stored in half precision, a pass per head and direction "
        f"(target: 10) | {stored / ours:.2f} |",
    ]


def shapes_table(models: str | None, wsj: Corpus, rounds: int) -> list[str]:
    """What each analysis of shapes adds to a scan of 512 sentences."""
    names = [name for name in SHAPES if name != "repetition"]
    lines = [
        "",
        "## Cost of the analyses of shapes of attention (512 WSJ sentences)",
        "",
        "Time added to a scan with the same model replicas, as a share of a scan with the analyses "
        f"of positions and language. All sides take turns, {BATCHES} batches at a time; the "
        f"fastest of {rounds} repetitions counts. The column `nothing` compares two scans without "
        "analyses and shows the measurement error. Distances use some 8,192 rows, the default.",
        "",
        "| model | " + " | ".join([*names, "nothing"]) + " |",
        "| --- " * (len(names) + 2) + "|",
    ]
    for name in ["minilm", *(["gte-small"] if models else [])]:
        model = load(name if name == "minilm" else Path(models or "") / name)
        cells = added(model, replace(wsj, limit=512), names, rounds)
        bars = [
            f"{cell:.2f}" + (" (target: 0.15)" if one == "patterns" else "")
            for one, cell in cells.items()
        ]
        lines.append(f"| {name} | " + " | ".join(bars) + " |")
        print(lines[-1], flush=True)
    return lines


def added(model: Model, corpus: Corpus, names: list[str], rounds: int) -> dict[str, float]:
    """Time that each analysis adds, and that nothing adds, as a share of a scan without it.

    A few batches at a time, all sides in turn: a slow phase of the machine affects all of them.
    """
    scan_of = passes(model, corpus)
    sets = {"bare": [], "scan": scan_of.kinds} | {name: choose([name]) for name in names}
    sides = {name: Together([replace(scan_of, kinds=some)]) for name, some in sets.items()}
    sides["nothing"] = sides["bare"]
    total = dict.fromkeys(sides, 0.0)
    texts = [one for part in shards(model, corpus, scan_of.settings) for one in part]
    batches = iter(scan_of.batches(texts))
    while some := [one for batch in islice(batches, BATCHES) for one in batch]:
        takes = [
            {name: timed(partial(side.work, some)) for name, side in sides.items()}
            for _ in range(rounds)
        ]
        for name in total:
            total[name] += min(take[name] for take in takes)
    return {name: (total[name] - total["bare"]) / total["scan"] for name in [*names, "nothing"]}


def distances_table(models: Path, wsj: Corpus, rounds: int) -> list[str]:
    """All pairs of gte-small's heads on all rows."""
    model = load(models / "gte-small")
    shard = model.encode(list(replace(wsj, limit=1024)))
    texts = {
        "WSJ sentences (target: 0.6)": shard[::3],
        "128 tokens": joined(model, shard, 128)[:32],
    }
    return [
        "",
        "## Distances between all pairs of heads (gte-small, 144 heads, every row)",
        "",
        "Time added to a pass, as a multiple of the forward of the same texts with the same model "
        "replicas. The double loop is timed on 400 pairs of 8 texts, on one core, and "
        "extrapolated.",
        "",
        "| texts | compiled | torch alone | double loop in numpy |",
        "| --- | --- | --- | --- |",
        *distances_lines(model, wsj, texts, rounds),
    ]


def importance_table(data: Path, models: str | None, rounds: int) -> list[str]:
    """Importance of all heads on pairs of STS-B, relative to the plain forward."""
    pairs = task("similarity:glue/sts-b", glue_dir=data / "glue", limit=512)
    named = {"minilm": (load("minilm"), pairs)}
    if models:
        named["gte-small"] = (load(Path(models) / "gte-small"), pairs)
    return [
        "",
        "## Importance of all heads (512 pairs of STS-B, similarity)",
        "",
        "Time as a multiple of the plain sdpa forward of the same batches; the fastest of "
        f"{rounds} repetitions. With gradients of attention, maps are kept until the backward pass "
        "is done.",
        "",
        "| model | importance (target: 4) | with gradients of attention |",
        "| --- | --- | --- |",
        *importance_lines(named, rounds),
    ]


def memory_table(data: Path) -> list[str]:
    """Peak memory of a scan of ten times as many sentences."""
    ewt = data / "ud" / "en_ewt-ud-train.conllu.gz"
    small, large = peak_memory(ewt, 1000), peak_memory(ewt, 10000)
    return [
        "",
        "## Peak memory (MiniLM, EWT train)",
        "",
        f"10,000 sentences compared with 1,000: {large / small:.3f} times (target: 1.05).",
    ]


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
