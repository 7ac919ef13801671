"""BLEU and chrF from counts per sentence, so that a resample of sentences has its own score.

The counts are those of sacrebleu; its scores are functions of their sums over a corpus.
"""

from __future__ import annotations

import numpy as np

from headscope.evidence.metrics import Floats, Metric, MetricKind

LOSS_COLUMNS, BLEU_COLUMNS, CHRF_COLUMNS = slice(0, 1), slice(1, 11), slice(11, 29)
WIDTH = 29
"""Numbers per sentence: the summed loss of its pieces, the counts of BLEU, the counts of chrF."""
ORDER = 4
"""Length of the longest n-grams of words in BLEU."""
BETA = 2
"""How many times as much recall counts as precision in chrF."""


def mean_loss(predictions: Floats, gold: Floats, weights: Floats) -> Floats:
    """The mean loss of a piece; gold is how many pieces a sentence has."""
    return np.asarray(weights @ predictions[:, 0] / (weights @ gold))


def bleu(predictions: Floats, _gold: Floats, weights: Floats) -> Floats:
    """BLEU, from 0 to 1, with sacrebleu's default smoothing of counts of 0.

    Args:
        predictions: (sentence, 10) lengths of translation and reference, right n-grams of 1 to 4
            words, n-grams of 1 to 4 words.
    """
    sums = weights @ predictions
    length, reference = sums[:, 0], sums[:, 1]
    right, total = sums[:, 2 : 2 + ORDER].copy(), sums[:, 2 + ORDER :]
    missed = (right == 0) & (total > 0)
    right[missed] = (1.0 / 2.0 ** np.cumsum(missed, 1))[missed]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.log(right / total).mean(1)
        short = np.where(length < reference, 1 - reference / length, 0.0)
    some = (sums[:, 2 : 2 + ORDER].sum(1) > 0) & (total > 0).all(1)
    return np.where(some, np.exp(np.where(some, precision + short, 0.0)), 0.0)


def chrf(predictions: Floats, _gold: Floats, weights: Floats) -> Floats:
    """chrF2, from 0 to 1: the F score of n-grams of 1 to 6 characters.

    Args:
        predictions: (sentence, 18) for each length, n-grams of the translation, of the reference,
            and those in both.
    """
    sums = (weights @ predictions).reshape(len(weights), -1, 3)
    said, wanted, both = sums[..., 0], sums[..., 1], sums[..., 2]
    there = (said > 0) & (wanted > 0)
    orders = np.maximum(there.sum(1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(there, both / said, 0.0).sum(1) / orders
        recall = np.where(there, both / wanted, 0.0).sum(1) / orders
        score = (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)
    return np.where(precision + recall > 0, score, 0.0)


BLEU = Metric("BLEU", MetricKind.COUNTS, bleu, columns=BLEU_COLUMNS)
CHRF = Metric("chrF", MetricKind.COUNTS, chrf, columns=CHRF_COLUMNS)
TOKEN_LOSS = Metric(
    "loss", MetricKind.COUNTS, mean_loss, better=-1, share=False, columns=LOSS_COLUMNS
)
