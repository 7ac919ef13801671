"""Distances between all pairs of heads: three implementations, relative to the forward."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray

from bench.timing import timed
from headscope._util.progress import NoProgress
from headscope.analyses.distances import Distances
from headscope.corpus import Corpus, Pieces
from headscope.evidence import divergence
from headscope.evidence.compiled import pair_sums
from headscope.evidence.divergence import plain_sums
from headscope.experiments.scan.passes import Pass, Together
from headscope.experiments.scan.reading import survey
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from headscope.model.attention import MapWatcher, Seen

Kernel = Callable[[torch.Tensor], NDArray[np.float64]]
SOME_PAIRS = 400
"""Pairs of heads that the double loop is timed on."""


def double_loop(maps: NDArray[np.float32], pairs: int) -> None:
    """As one writes it: a pair of heads at a time, maps (head, query, key)."""
    done = 0
    for one in range(len(maps)):
        for other in range(one):
            p, q = maps[one], maps[other]
            m = (p + q) / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                left, right = p * np.log(p / m), q * np.log(q / m)
            _ = (np.nansum(left) + np.nansum(right)) / 2 / len(p)
            done += 1
            if done == pairs:
                return


def itself(one: Kernel) -> Kernel:
    return one


def all_rows(model: Model, corpus: Corpus, kinds: list[type[Distances]]) -> Pass:
    settings = Settings(max_length=model.max_length, options={"distances": {"rows": 0}})
    surveyed = survey(model, corpus, [], settings, NoProgress())
    return Pass(model, corpus, surveyed, [*kinds], settings, NoProgress())


def distances_lines(
    model: Model, corpus: Corpus, texts: dict[str, list[Pieces]], rounds: int
) -> list[str]:
    """One line for each set of texts: ratios to the forward by the same readers."""
    lines = []
    for name, pieces in texts.items():
        takes: dict[str, list[float]] = {"forward": [], "compiled": [], "plain": []}
        bare, full = (Together([all_rows(model, corpus, kinds)]) for kinds in ([], [Distances]))
        full.work(pieces[:8])  # compile
        for _ in range(rounds):
            takes["forward"].append(timed(partial(bare.work, pieces)))
            for kernel, sums in (("compiled", pair_sums), ("plain", plain_sums)):
                with patch.object(divergence, "kernel", partial(itself, sums)):
                    takes[kernel].append(timed(partial(full.work, pieces)))
        forward = min(takes["forward"])
        cells = [(min(takes[kernel]) - forward) / forward for kernel in ("compiled", "plain")]
        size = model.layers * model.heads
        share = size * (size - 1) / 2 / SOME_PAIRS
        loop = share * sum(looped(model, one) for one in pieces[:: max(1, len(pieces) // 8)])
        loop *= len(pieces) / len(pieces[:: max(1, len(pieces) // 8)])
        lines.append(f"| {name} | {cells[0]:.2f} | {cells[1]:.2f} | {loop / forward:.0f} |")
        print(lines[-1], flush=True)
    return lines


def looped(model: Model, pieces: Pieces) -> float:
    """Seconds of the double loop for some pairs of heads on one text."""
    seen: list[torch.Tensor] = []

    def keep(_: Seen, maps: torch.Tensor) -> None:
        seen.append(maps[0].clone())

    with model.watch(MapWatcher(keep)) as tap:
        tap.forward(model.batch([pieces]))
    maps = torch.cat(seen).numpy()
    return timed(lambda: double_loop(maps, SOME_PAIRS))
