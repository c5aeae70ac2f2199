"""Balanced k-means: clusters of equal size, up to one.

Lloyd's algorithm in which the assignment step is a linear assignment problem between the points
and the places of the clusters, so that every cluster gets its share at the least total distance.
HOMER's authors insert the points one by one instead and let a full cluster pass on its farthest.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

_TOLERANCE = 1e-9
"""Differences of total distances below it are rounding."""


def balanced_k_means(
    points: NDArray[np.floating], n_clusters: int, random: np.random.RandomState
) -> NDArray[np.intp]:
    """Divide points into clusters whose sizes differ by at most one.

    Parameters
    ----------
    points : float array of shape (n_points, n_dimensions)
        At least `n_clusters` points.
    n_clusters : int
        Number of clusters.
    random : RandomState
        Draws the points that are the first centres.

    Returns
    -------
    int array of shape (n_points,)
        Number of each point's cluster; a local minimum of the sum of squared distances to the
        clusters' means.

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [0.2], [5.0]])
    >>> np.bincount(balanced_k_means(points, 2, np.random.RandomState(0)))
    array([2, 2])
    """
    n_points = len(points)
    places = np.sort(np.arange(n_points) % n_clusters)
    centres = points[random.permutation(n_points)[:n_clusters]]
    clusters, least = places, np.inf
    while True:
        distance = cdist(points, centres, "sqeuclidean")[:, places]
        point, place = linear_sum_assignment(distance)
        total = distance[point, place].sum()
        if total >= least - _TOLERANCE:
            return clusters
        clusters, least = places[place], total
        centres = np.stack([points[clusters == k].mean(axis=0) for k in range(n_clusters)])
