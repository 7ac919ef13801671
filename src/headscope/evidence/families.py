"""Families of heads: scaling and clustering of the distances between all pairs of heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

SHUFFLES = 10_000
"""Permutations of layers among heads; the smallest possible p is 1 / (SHUFFLES + 1)."""
MIN_CLUSTERS, MAX_CLUSTERS = 3, 12
STARTS = 8
"""Random starts of the scaling, of which the best is kept."""


@dataclass(frozen=True)
class Scaling:
    """Heads as points in a plane whose distances approximate those between heads.

    Attributes:
        points: (head, 2)
        stress: Kruskal's stress-1: 0 for an exact picture of the distances, .2 for a poor one.
    """

    points: Floats
    stress: float


def multidimensional_scaling(distances: Floats, seed: int = 0) -> Scaling:
    """Scale (head, head) distances to a plane (metric MDS of scikit-learn).

    The first axis is the longest; signs are such that the first head has positive coordinates.

    >>> line = multidimensional_scaling(np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))))
    >>> line.stress < 0.01
    True
    """
    from sklearn.manifold import MDS

    if not distances.any():  # all heads are alike
        return Scaling(np.zeros((len(distances), 2)), 0.0)
    scaling = MDS(
        n_components=2,
        metric="precomputed",
        metric_mds=True,
        n_init=STARTS,
        init="random",
        random_state=seed,
        normalized_stress=True,
    ).fit(distances)
    points = scaling.embedding_ - scaling.embedding_.mean(0)
    points = points @ np.linalg.svd(points, full_matrices=False)[2].T
    signs = np.where(points[0] < 0, -1, 1)
    return Scaling(np.asarray(points * signs), float(scaling.stress_))


def dendrogram(distances: Floats) -> Floats:
    """(head - 1, 4) the dendrogram in scipy's format, with similar heads next to each other.

    Ward's method on square roots: the root of a Jensen-Shannon divergence is a Euclidean distance
    (Fuglede and Topsoe 2004), as the method requires.
    """
    from scipy.cluster.hierarchy import linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    condensed = np.sqrt(squareform(distances, checks=False))
    return np.asarray(optimal_leaf_ordering(linkage(condensed, "ward"), condensed))


def leaf_order(links: Floats) -> Places:
    """(head,) the heads of a dendrogram from left to right."""
    from scipy.cluster.hierarchy import leaves_list

    return np.asarray(leaves_list(links), dtype=np.int64)


def cut_dendrogram(distances: Floats, links: Floats) -> Places:
    """(head,) the cluster of each head, numbered from 0 in the order of the dendrogram.

    The dendrogram is cut where the mean silhouette is largest.

    >>> places = np.array([0.0, 0.1, 5.0, 5.1, 9.0])
    >>> apart = np.subtract.outer(places, places) ** 2
    >>> cut_dendrogram(apart, dendrogram(apart)).tolist() in ([0, 0, 1, 1, 2], [2, 2, 1, 1, 0])
    True
    """
    from scipy.cluster.hierarchy import fcluster
    from sklearn.metrics import silhouette_score

    best_score, best = -np.inf, np.zeros(len(distances), dtype=np.int64)
    for number in range(MIN_CLUSTERS, min(MAX_CLUSTERS, len(distances) - 1) + 1):
        clusters = np.asarray(fcluster(links, number, "maxclust"), dtype=np.int64)
        if len(set(clusters)) < number:
            continue
        score = silhouette_score(np.sqrt(distances), clusters, metric="precomputed")
        if score > best_score:
            best_score, best = score, clusters
    by_position = list(dict.fromkeys(best[leaf_order(links)].tolist()))
    return np.array([by_position.index(cluster) for cluster in best.tolist()])


@dataclass(frozen=True)
class LayerTest:
    """Whether heads of one layer are more similar than heads of different layers.

    Attributes:
        within, between: mean distance of heads of the same layer, and of different layers.
        p: one-sided p-value of a permutation test that shuffles the layers among the heads.
    """

    within: float
    between: float
    p: float


def layer_test(
    distances: Floats, layer: Places, seed: int = 0, shuffles: int = SHUFFLES
) -> LayerTest:
    """Test whether heads of one layer are closer to each other than heads of different layers.

    Args:
        distances: (head, head)
        layer: (head,) the layer of each head.

    >>> near = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]], dtype=float)
    >>> test = layer_test(near, np.array([0, 0, 1, 1]), shuffles=99)
    >>> test.within, test.between
    (1.0, 9.0)
    """
    upper = np.triu_indices(len(layer), 1)
    values = distances[upper]

    def within(layers: Places) -> float:
        return float(values[layers[upper[0]] == layers[upper[1]]].mean())

    observed = within(layer)
    same = layer[upper[0]] == layer[upper[1]]
    rng = np.random.default_rng(seed)
    lower = sum(within(rng.permutation(layer)) <= observed for _ in range(shuffles))
    return LayerTest(observed, float(values[~same].mean()), (1 + lower) / (1 + shuffles))
