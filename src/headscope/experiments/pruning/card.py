"""The card of a pruned model: what was removed and why, what it costs, how to load it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from headscope.evidence.metrics import Score
from headscope.experiments._shared.head_curves import ScoreChange
from headscope.experiments.pruning.tables import NAMED, PrunedModel, PruningSummary, limit_in_words
from headscope.model import Model
from headscope.model.pruned.usage import (
    loading_lines,
    onnx_lines,
    pipeline_lines,
    sentence_lines,
    speaking_lines,
)
from headscope.runs import Study

REASONS = {
    "importance": "the loss is least sensitive to them (Michel et al. 2019: the mean over examples "
    "of the absolute derivative of the loss by a gate on the head, divided by the norm of its "
    "layer)",
    "ablation": "the metric lost least without them, one at a time",
    NAMED: "they were named",
    "gates": "their gates closed first as open gates cost more (Voita et al. 2019: hard-concrete "
    "gates with an L0 penalty)",
}

FOLDER = "FOLDER"
TRUST = (
    "Layers that lack heads have no place in a configuration of transformers, so this folder "
    "brings the Python that makes them: `modeling_pruned.py`, which `trust_remote_code=True` lets "
    "transformers run. Read it first; it is short. `headscope.load` does not run it."
)


def model_card(model: Model, study: Study, summary: PruningSummary) -> str:
    """The card as Markdown."""
    pruned = summary.pruned
    gone = pruned.heads - pruned.kept
    sections = [
        [f"# {study.model.name} without {gone} of its {pruned.heads} attention heads"],
        [f"For {study.about.name}. {summary.claim}"],
        ["## What was removed, and why"],
        [_reason(study, summary)],
        _by_layer(pruned.removed),
        ["## What it costs, and what it brings"],
        [_certified(summary)],
        [f"On {summary.sizes.test:,} examples that had no part in choosing the heads:"],
        _metrics(summary.intact, pruned.final),
        list(_facts(pruned)),
        ["## How to load it"],
        [TRUST if gone else ""],
        *_usage(model, summary),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if any(lines)) + "\n"


def _reason(study: Study, summary: PruningSummary) -> str:
    pruned, step = summary.pruned, study.options["step"]
    if pruned.kept == pruned.heads:
        return "No head was removed."
    again = "" if step is None else f"; the others were scored again after every {step} removals"
    instead = ""
    if study.options["how"] == "mean":
        instead = "Their mean output was added to the bias of the layer's output projection. "
    return (
        f"{pruned.heads - pruned.kept} heads were removed because {REASONS[pruned.by]}{again}, on "
        f"{summary.sizes.choice:,} examples. {instead}Layers and heads are counted from 0."
    )


def _certified(summary: PruningSummary) -> str:
    """How the promise was tested."""
    promise, intact = summary.promise, summary.intact[0]
    if promise is None or summary.pruned.kept == summary.pruned.heads:
        return ""
    kind = "an exact" if promise.exact else "an approximate"
    return (
        f"The promise: with {100 * promise.confidence:g}% confidence {intact.metric} loses at most "
        f"{limit_in_words(promise.max_drop, intact)} on new examples of the kind it was tested on. "
        f"It was tested on {promise.examples:,} examples that chose nothing before, by {kind} "
        "one-sided paired test of growing numbers of heads, up to the first that failed. It does "
        "not extend to other kinds of text"
        + (", nor to the model after fine-tuning." if summary.pruned.tuned else ".")
    )


def _by_layer(names: list[str]) -> list[str]:
    """The removed heads, a line for each layer."""
    layers: dict[str, list[str]] = defaultdict(list)
    for name in names:
        layer, _, head = name.rpartition(".")
        layers[layer].append(head)
    return [f"- {layer}: {', '.join(heads)}" for layer, heads in layers.items()]


def _metrics(intact: list[Score], changes: list[ScoreChange]) -> list[str]:
    return [
        "| metric | intact | pruned | difference, 95% interval |",
        "| --- | --- | --- | --- |",
        *(
            f"| {change.metric} | {score.value:.3f} | {change.value:.3f} | "
            f"{change.delta:+.3f} [{change.low:+.3f}, {change.high:+.3f}] |"
            for score, change in zip(intact, changes, strict=True)
        ),
    ]


def _facts(pruned: PrunedModel) -> Iterator[str]:
    before, after = pruned.parameters
    yield f"- {before:,} parameters before, {after:,} after ({after / before:.1%})."
    yield (
        f"- {pruned.speed} at {pruned.timed}, both measured in turn on the machine that made it, "
        "texts of the task in batches."
    )
    tuned = ", before it was fine-tuned further" if pruned.tuned else ""
    yield (
        "- Its outputs are those of the intact model with these heads off to "
        f"{pruned.difference:.0e} of the largest{tuned}."
    )
    if pruned.onnx is not None:
        yield f"- `model.onnx` gives the same outputs to {pruned.onnx:.0e} (onnxruntime)."


def _usage(model: Model, summary: PruningSummary) -> Iterator[list[str]]:
    """Lines of code, each kind in a block of its own."""
    lines = {
        "With transformers:": speaking_lines(model, FOLDER) or loading_lines(model, FOLDER),
        "As a pipeline:": pipeline_lines(model, FOLDER),
        "As sentence vectors, pooled as those of the original:": sentence_lines(model, FOLDER),
        "With headscope:": f'import headscope\nheadscope.load("{FOLDER}")',
    }
    if summary.pruned.onnx is not None:
        lines["Without torch:"] = onnx_lines(model, FOLDER)
    for title, code in lines.items():
        if code is not None:
            yield [title]
            yield ["```python", code, "```"]
