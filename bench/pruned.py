"""Pruned models against the intact one, by torch and by onnxruntime."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headscope.corpus import Corpus
from headscope.experiments.pruning.orders import random_order
from headscope.experiments.pruning.speed import measure_speedup
from headscope.model import Model, remove
from headscope.model.pruned.onnx import export_onnx, onnx_session

SHARES = (1.0, 0.6, 0.3)
LENGTH, TEXTS = 64, 32


def pruned_table(models: dict[str, Model], corpus: Corpus) -> list[str]:
    """One line per model and share of heads kept, which are drawn at random."""
    lines = [
        "",
        "## Throughput of pruned models",
        "",
        f"Tokens per second relative to the intact model in torch (sdpa); {TEXTS} texts of "
        f"{LENGTH} tokens per batch, with randomly chosen heads kept. Medians of alternating "
        "rounds with 95% intervals; onnxruntime uses the same number of threads.",
        "",
        "| model | heads kept | parameters | torch | onnxruntime |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, model in models.items():
        total = model.layers * model.heads
        order = random_order(total, 0)
        inputs = batch(model, corpus)
        intact = forward(model, inputs)
        size = sum(one.numel() for one in model.network.parameters())
        for share in SHARES:
            kept = round(share * total)
            smaller = remove(model, model.places_of(order[: total - kept]))
            left = sum(one.numel() for one in smaller.network.parameters()) / size
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.onnx"
                export_onnx(smaller, path)
                session = onnx_session(path)
                speedups = [
                    measure_speedup(intact, work)
                    for work in (forward(smaller, inputs), by_onnx(session, inputs))
                ]
            cells = [f"{one.times:.2f} [{one.low:.2f}, {one.high:.2f}]" for one in speedups]
            lines.append(f"| {name} | {share:.0%} | {left:.0%} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


def batch(model: Model, corpus: Corpus) -> dict[str, Tensor]:
    """Texts of the same length, made by joining sentences."""
    ids = [int(token) for one in model.encode(list(corpus)) for token in one.ids[1:-1]]
    rows = torch.tensor(ids[: TEXTS * LENGTH]).view(TEXTS, LENGTH)
    ones = torch.ones_like(rows)
    known = {"input_ids": rows, "attention_mask": ones, "token_type_ids": torch.zeros_like(rows)}
    wanted = model.batch(model.encode(list(corpus)[:1])).inputs(model.network)
    return {name: known[name] for name in wanted}


def forward(model: Model, inputs: dict[str, Tensor]) -> Callable[[], object]:
    """The plain forward."""

    def once() -> None:
        with torch.inference_mode():
            model.network(**inputs)

    return once


def by_onnx(session: Any, inputs: dict[str, Tensor]) -> Callable[[], object]:
    """The same by onnxruntime."""
    given = {name: one.numpy() for name, one in inputs.items()}
    return lambda: session.run(None, given)
