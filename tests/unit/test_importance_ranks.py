"""Ranks of importance: their intervals hold the rank that all documents would give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from headscope.experiments.importance.compute import ranked, resampled

Floats = NDArray[np.float64]
HEADS = 72
SPREAD = 0.77
"""Standard deviation of the logarithm of MiniLM's importances on the tour."""


def sizes(rng: np.random.Generator, importances: Floats, documents: int) -> Floats:
    """(case, head) of documents of four cases, which are alike in the document and over heads."""
    document = np.repeat(np.arange(documents), 4)
    logarithms = rng.normal(0, 0.5, (documents, HEADS))[document]
    logarithms += rng.normal(0, 0.8, (4 * documents, HEADS))
    logarithms += rng.normal(0, 0.5, (4 * documents, 1))
    return np.asarray(importances * np.exp(logarithms))


@pytest.mark.parametrize(("documents", "least"), [(25, 0.92), (100, 0.94)])
def test_ranks_of_heads_are_covered(documents: int, least: float) -> None:
    """95% is the aim; with 100 cases of 25 documents a little less is reached."""
    rng, covered = np.random.default_rng(19), []
    units = [str(case // 4) for case in range(4 * documents)]
    for seed in range(30):
        importances = np.exp(rng.normal(0, SPREAD, HEADS))
        drawn = sizes(rng, importances, documents)
        _, (low, high) = resampled(drawn, units, seed, compared=lambda means: means)
        (rank,) = ranked(importances[None])
        covered.append(np.mean((low <= rank) & (rank <= high)))
    assert least <= np.mean(covered) <= 0.98


def test_close_ranks_are_uncertain() -> None:
    """Heads that hardly differ have wide intervals; a head that stands out has its own rank."""
    rng = np.random.default_rng(23)
    importances = np.exp(rng.normal(0, 0.05, HEADS))
    importances[7] = 20.0
    units = [str(case // 4) for case in range(160)]
    _, (low, high) = resampled(sizes(rng, importances, 40), units, 0, compared=lambda means: means)
    assert (low[7], high[7]) == (1, 1)
    assert np.median(high - low) > HEADS / 3
