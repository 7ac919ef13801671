"""Kobayashi et al. 2020: word alignment by attention weights and by vector norms (section 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from headscope.experiments.reproduce.inputs import CannotReproduceError
from headscope.experiments.reproduce.workbench import Quantities, Recomputed, Workbench, recipe

PAPER = "kobayashi2020"
PERCENT = 100.0
LEVEL = [0.025, 0.975]

Floats = NDArray[np.float64]


@recipe(PAPER, "alignment", "alignments")
def alignment(bench: Workbench) -> Quantities:
    """Alignment error rates of layers and heads, and how they go with the norms of heads.

    Intervals are bootstrapped over texts; layers and heads are chosen on all texts, as there.
    """
    from headscope.experiments.reproduce.recipes._drawn_links import BY, SETTINGS, count_links
    from headscope.model.attention import Kind

    if Kind.CROSS not in bench.model.stacks:
        raise CannotReproduceError(f"{bench.model.name} has no cross-attention")
    bench.model.check_even("this recipe")
    corpus = bench.inputs.corpus("alignments")
    texts = bench.model.encode([example for example in corpus if example.alignment])
    if not texts:
        raise CannotReproduceError("no text has gold links")
    for text in texts:
        bench.model.check_not_truncated(text, None, corpus.paths[0])
    errors = count_links(bench.model, texts)
    rates, norms = PERCENT * errors.rates(), errors.mean_norms()
    highest_layer = int(norms[0].sum(-1).argmax())
    highest_head = np.unravel_index(norms[0].argmax(), norms[0].shape)
    found: Quantities = {}
    for number, setting in enumerate(SETTINGS):
        for place, by in enumerate(BY):
            layers = rates[:, number, place, :, -1]
            found[f"{setting} layer mean, {by}"] = over_texts(layers.mean(-1), len(texts))
            best = layers[:, layers[0].argmin()]
            found[f"{setting} best layer, {by}"] = over_texts(best, len(texts))
        by_norm = rates[:, number, BY.index("vector norms")]
        layer = by_norm[:, highest_layer, -1]
        found[f"{setting} highest layer"] = over_texts(layer, len(texts))
        heads = by_norm[..., :-1]
        found[f"{setting} highest head"] = over_texts(heads[:, *highest_head], len(texts))
        for name, correlate in (("Spearman", stats.spearmanr), ("Pearson", stats.pearsonr)):
            correlations = np.array(
                [
                    correlate(rate.ravel(), norm.ravel()).statistic
                    for rate, norm in zip(heads, norms, strict=True)
                ]
            )
            found[f"{setting} {name}"] = over_texts(correlations, len(texts))
    return found


def over_texts(values: Floats, texts: int) -> Recomputed:
    """A number from its value on all texts and on every resample of them.

    >>> over_texts(np.array([0.5, 0.4, 0.6]), 10).n
    10
    """
    low, high = np.quantile(values[1:], LEVEL)
    return Recomputed(float(values[0]), float(low), float(high), texts)
