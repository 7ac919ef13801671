"""The card of a pruned model: what was removed and why, what it costs, how to load it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from headscope._util.naming import head_name
from headscope.experiments.pruning.section import claim
from headscope.model import Model
from headscope.model.pruned.snippet import loading_snippet

Row = dict[str, Any]
WHY = {
    "importance": "the loss felt them least (Michel et al. 2019: the mean over examples of the "
    "absolute derivative of the loss by a gate on the head, each layer's divided by its length)",
    "ablation": "the metric lost least without them, one at a time",
    "gates": "their gates closed first as open gates cost more (Voita et al. 2019: hard-concrete "
    "gates with an L0 penalty)",
}


def card(model: Model, study: Row, record: Row) -> str:
    """The card as Markdown."""
    about, options = record["pruned"], study["options"]
    gone = about["heads"] - about["kept"]
    before, after = about["parameters"]
    speed = about["speed"]
    again = "" if options["step"] is None else (
        f"; what the others are worth was estimated again after every {options['step']}"
    )  # fmt: skip
    instead = (
        "What they gave on average was added to the bias of the layer's output. "
        if options["how"] == "mean" else ""
    )  # fmt: skip
    lines = [
        f"# {study['model']['name']} without {gone} of its {about['heads']} attention heads", "",
        f"For {study['task']['name']}. {claim(record)}", "",
        "## What was removed, and why", "",
        f"{gone} heads were removed because {WHY[about['by']]}{again}, on "
        f"{record['sizes']['choice']:,} examples. {instead}"
        "Layers and heads are counted from 0.", "",
        *_by_layer(about["removed"]), "",
        "## What it costs, and what it brings", "",
        f"On {record['sizes']['test']:,} examples that had no part in choosing the heads:", "",
        "| metric | intact | pruned | difference, 95% interval |",
        "| --- | --- | --- | --- |",
        *(_metric(one, other) for one, other in
          zip(record["intact"], about.get("tuned", about["test"]), strict=True)), "",
        f"- {before:,} parameters before, {after:,} after ({after / before:.1%}).",
        f"- {speed['times']:.2f} times as fast [{speed['low']:.2f}, {speed['high']:.2f}], both "
        "measured in turn on the machine that made it, texts of the task in batches.",
        f"- Its outputs are those of the intact model with these heads off to "
        f"{about['difference']:.0e} of the largest"
        + (", before it was fine-tuned further." if "tuned" in about else "."),
        *([f"- `model.onnx` gives the same outputs to {about['onnx']:.0e} (onnxruntime)."]
          if "onnx" in about else []), "",
        "## How to load it", "",
        "`headscope.load(FOLDER)`, or without headscope:", "",
        "```python", loading_snippet(model, "FOLDER"), "```", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _metric(intact: Row, row: Row) -> str:
    return (
        f"| {row['metric']} | {intact['value']:.3f} | {row['value']:.3f} | "
        f"{row['delta']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}] |"
    )


def _by_layer(names: list[str]) -> list[str]:
    """The heads that are gone, a line for each layer."""
    layers: dict[str, list[str]] = defaultdict(list)
    for name in names:
        layer, _, head = name.partition(".")
        layers[layer].append(head)
    return [f"- {head_name(int(layer[1:]))}: {', '.join(some)}" for layer, some in layers.items()]
