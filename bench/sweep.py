"""The ablation sweep against one run per head: in the same batches, and as a naive script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from bench.timing import timed
from headscope._util.progress import NoProgress
from headscope.corpus import read
from headscope.evidence.metrics import PEARSON
from headscope.experiments.ablation.compute import Ablation
from headscope.experiments.ablation.variants import every_head
from headscope.model import Model, disable, load
from headscope.model.initialise import load_untrained_classifier
from headscope.tasks import CaseBatch, Regression, Similarity, Task

PAIRS = 128
SOME = 6
"""Heads that the slower sides are timed on, in every second layer; each costs them the same."""
LENGTH, SIZE = 128, 32


@dataclass
class Race:
    """One task: seconds for all heads, ours and by one run a head; how far predictions differ."""

    ours: float
    runs: float
    naive: float
    worst: float

    @property
    def cells(self) -> tuple[float, float]:
        """Times slower than the sweep: the same batches, the naive script."""
        return self.runs / self.ours, self.naive / self.ours


def race(model: Model, task: Task, naive: Callable[[int, int], object]) -> Race:
    """Time the sweep of all heads, and as many plain runs of the same batches."""
    variants = every_head(model)
    work = Ablation(model, task, heads=[variant.name for variant in variants])
    work.prepare(NoProgress())
    batches = [one for part in work.parts for one in task.batches(model, part, work.budget)]
    run_all(model, task, batches)  # warm up
    ours = timed(lambda: [work.work(part) for part in work.parts])
    chosen = [(layer, layer % model.heads) for layer in range(model.layers)][:SOME]
    runs = timed(lambda: [run_all(model, task, batches) for _ in chosen])
    slow = timed(lambda: [naive(layer, head) for layer, head in chosen])
    worst = 0.0
    for layer, head in chosen:
        with disable(model, [(layer, head)]):
            reference = np.concatenate(run_all(model, task, batches))
        place = 1 + layer * model.heads + head
        found = np.concatenate(
            [
                work.done[start : start + len(part), place][list(one.places)]
                for start, part in zip(starts(work), work.parts, strict=True)
                for one in task.batches(model, part, work.budget)
            ]
        )
        worst = max(worst, float(np.abs(found - reference).max()))
    scale = len(variants) / len(chosen)
    return Race(ours, runs * scale, slow * scale, worst)


def starts(work: Ablation) -> list[int]:
    return [int(one) for one in np.cumsum([0, *(len(part) for part in work.parts[:-1])])]


@torch.inference_mode()
def run_all(model: Model, task: Task, batches: list[CaseBatch]) -> list[np.ndarray]:
    """One run of a task."""
    return [task.read(model, one, one.inputs(model), 1)[0].double().numpy() for one in batches]


class Script:
    """What one writes today: batches padded to 128, a hook that makes one head uniform."""

    def __init__(self, model: Model, texts: Sequence[tuple[str, ...]], whole: bool) -> None:
        self.model, self.texts = model, texts
        self.network = model.whole if whole else model.network

    @torch.inference_mode()
    def __call__(self, layer: int, head: int) -> list[Tensor]:
        block = self.model.adapter.blocks(self.model.network)[layer]
        size = self.model.network.config.hidden_size // self.model.heads
        part = slice(head * size, (head + 1) * size)
        seen: dict[str, Tensor] = {}

        def keep(_: nn.Module, __: object, output: Tensor) -> None:
            seen["value"] = output

        def put(_: nn.Module, arguments: tuple[Tensor]) -> tuple[Tensor]:
            real = seen["mask"][..., None].float()
            mean = (seen["value"][..., part] * real).sum(1, keepdim=True) / real.sum(
                1, keepdim=True
            )
            entering = arguments[0].clone()
            entering[..., part] = mean
            return (entering,)

        value = block.get_submodule("attention.self.value")
        output = block.get_submodule(self.model.adapter.output_projection)
        hooks = [value.register_forward_hook(keep), output.register_forward_pre_hook(put)]
        found = []
        for start in range(0, len(self.texts), SIZE):
            some = self.texts[start : start + SIZE]
            encoded = self.model.tokenizer(
                [one[0] for one in some],
                [one[1] for one in some] if len(some[0]) > 1 else None,
                padding="max_length",
                truncation=True,
                max_length=LENGTH,
                return_tensors="pt",
            )
            seen["mask"] = encoded["attention_mask"]
            found.append(self.network(**encoded)[0])
        for hook in hooks:
            hook.remove()
        return found


def sweep_table(models: Path, data: Path) -> list[str]:
    """The table for RESULTS.md."""
    stsb = data / "glue" / "STS-B" / "dev.tsv.gz"
    pairs = read(f"glue/sts-b:{stsb}", limit=PAIRS)
    plain, with_top = (
        load(models / "gte-small"),
        load_untrained_classifier(models / "gte-small", []),
    )
    apart = [(text,) for one in pairs for text in (one.text, one.pair or "")]
    together = [(one.text, one.pair or "") for one in pairs]
    scores = Regression("score", pairs, (PEARSON,))
    rows = {
        "mean pooling (reads every token; target: 1.7)": race(
            plain, Similarity("similarity", pairs), Script(plain, apart, whole=False)
        ),
        "regressor (reads the first token; target: 2.0)": race(
            with_top, scores, Script(with_top, together, whole=True)
        ),
    }
    lines = [
        "",
        "## Sweep over all heads compared with one run per head (gte-small, 144 heads, 128 "
        "pairs of STS-B)",
        "",
        f"The slower sides are timed on {SOME} heads, in every second layer, and extrapolated. The "
        "last column is the largest difference between the predictions of the sweep and of single "
        "runs for those heads.",
        "",
        "| task | times slower: same model, same batches | naive, padded to 128 (target: 5) | "
        "largest difference |",
        "| --- | --- | --- | --- |",
    ]
    for name, one in rows.items():
        lines.append(f"| {name} | {one.cells[0]:.2f} | {one.cells[1]:.2f} | {one.worst:.0e} |")
        print(lines[-1], flush=True)
    return lines
