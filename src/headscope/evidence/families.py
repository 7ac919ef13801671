"""Families of heads: what the distances between all pairs of heads say when seen together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

SHUFFLES = 10_000
"""Permutations of layers among heads; the smallest p that can be reported is one in so many."""
FEWEST, MOST = 3, 12
"""Clusters: so many are tried."""
STARTS = 8
"""Scalings from different random starts, of which the best is kept."""


@dataclass(frozen=True)
class Scaling:
    """Heads as points in a plane, as near to each other as their distances allow.

    Attributes:
        points: (head, 2)
        stress: Kruskal's stress-1: 0 where the plane shows all distances truly, .2 is poor.
    """

    points: Floats
    stress: float


def scale(distances: Floats, seed: int = 0) -> Scaling:
    """Multidimensional scaling of (head, head) distances to a plane, by scikit-learn.

    The picture is turned so that its longest direction lies across, and its first head above.

    >>> flat = scale(np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))))
    >>> flat.stress < 0.01
    True
    """
    from sklearn.manifold import MDS

    if not distances.any():  # all heads look alike
        return Scaling(np.zeros((len(distances), 2)), 0.0)
    made = MDS(
        n_components=2,
        metric="precomputed",
        metric_mds=True,
        n_init=STARTS,
        init="random",
        random_state=seed,
        normalized_stress=True,
    ).fit(distances)
    points = made.embedding_ - made.embedding_.mean(0)
    points = points @ np.linalg.svd(points, full_matrices=False)[2].T
    signs = np.where(points[0] < 0, -1, 1)
    return Scaling(np.asarray(points * signs), float(made.stress_))


def tree(distances: Floats) -> Floats:
    """(head - 1, 4) the dendrogram as scipy writes it; near heads stand near each other.

    By Ward's rule on square roots: the root of a Jensen-Shannon divergence is a distance between
    points (Fuglede and Topsoe 2004), whose spread within clusters the rule keeps small.
    """
    condensed = np.sqrt(scipy.spatial.distance.squareform(distances, checks=False))
    hierarchy = scipy.cluster.hierarchy
    links = hierarchy.linkage(condensed, "ward")
    return np.asarray(hierarchy.optimal_leaf_ordering(links, condensed))


def order(links: Floats) -> Places:
    """(head,) the heads from left to right of a dendrogram."""
    return np.asarray(scipy.cluster.hierarchy.leaves_list(links), dtype=np.int64)


def clusters(distances: Floats, links: Floats) -> Places:
    """(head,) the cluster of each head, from 0, in the order of the dendrogram.

    The tree is cut where the mean silhouette is largest: where heads are nearest to their own
    cluster against the next.

    >>> places = np.array([0.0, 0.1, 5.0, 5.1, 9.0])
    >>> apart = np.subtract.outer(places, places) ** 2
    >>> clusters(apart, tree(apart)).tolist() in ([0, 0, 1, 1, 2], [2, 2, 1, 1, 0])
    True
    """
    from sklearn.metrics import silhouette_score

    best, chosen = -np.inf, np.zeros(len(distances), dtype=np.int64)
    for wanted in range(FEWEST, min(MOST, len(distances) - 1) + 1):
        found = np.asarray(
            scipy.cluster.hierarchy.fcluster(links, wanted, "maxclust"), dtype=np.int64
        )
        if len(set(found)) < wanted:
            continue
        score = silhouette_score(np.sqrt(distances), found, metric="precomputed")
        if score > best:
            best, chosen = score, found
    first = list(dict.fromkeys(chosen[order(links)].tolist()))
    return np.array([first.index(one) for one in chosen.tolist()])


@dataclass(frozen=True)
class Alike:
    """Whether heads of one layer are alike.

    Attributes:
        within, between: mean distance of two heads of one layer, and of two layers.
        p: how often layers dealt out at random among heads make so large a difference.
    """

    within: float
    between: float
    p: float


def alike(distances: Floats, layer: Places, seed: int = 0, shuffles: int = SHUFFLES) -> Alike:
    """Are heads of one layer nearer to each other than heads of different layers?

    Args:
        distances: (head, head)
        layer: (head,) which layer each belongs to.

    >>> near = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]], dtype=float)
    >>> found = alike(near, np.array([0, 0, 1, 1]), shuffles=99)
    >>> found.within, found.between
    (1.0, 9.0)
    """
    upper = np.triu_indices(len(layer), 1)
    values = distances[upper]

    def within(layers: Places) -> float:
        return float(values[layers[upper[0]] == layers[upper[1]]].mean())

    inside = within(layer)
    same = layer[upper[0]] == layer[upper[1]]
    rng = np.random.default_rng(seed)
    lower = sum(within(rng.permutation(layer)) <= inside for _ in range(shuffles))
    return Alike(inside, float(values[~same].mean()), (1 + lower) / (1 + shuffles))
