"""Demo: several experiments on the bundled model and texts, and one report of all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.runs import RunResults


def run_demo(out: Path, **context: Any) -> list[RunResults]:
    """Scan, switch heads off, propagate relevance and prune.

    Args:
        context: `progress` and `command`, as every experiment takes them.

    Returns:
        The results, the scan first.
    """
    from headscope.experiments.ablation import ablate
    from headscope.experiments.pruning import prune
    from headscope.experiments.relevance import relevance
    from headscope.experiments.scan import scan
    from headscope.experiments.scan.settings import Settings

    settings = Settings(random_weights=True, min_count=20)
    scanned = scan("minilm", "tour", "tour-pairs", out=out, settings=settings, **context)
    ablated = ablate("minilm", "tour", out=out / "ablation", **context)
    relevant = relevance("minilm", "tour", out=out / "relevance", **context)
    pruned = prune("minilm", "tour", keep=0.5, onnx=False, out=out / "pruned", **context)
    return [scanned, ablated, relevant, pruned]
