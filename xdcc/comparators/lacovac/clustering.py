"""Clusters of labels: phi coefficients, their threshold, and single linkage (Algorithm 2).

This is Section 3.3 of the paper in NumPy, to explore the labels of a data set. The training kernel
has its own implementation. Single linkage cut at a threshold gives the connected components of the
labels whose absolute correlation is above it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from xdcc.base.domains import Number, check_domain


def label_correlations(Y: Any) -> NDArray[np.float64]:
    """Compute the phi coefficients of all pairs of labels (equation 1).

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones.

    Returns
    -------
    float array of shape (n_labels, n_labels)
        Correlations; 0 if a label is constant, 1 on the diagonal.

    Examples
    --------
    >>> label_correlations([[1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1]])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    labels = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
    labels = labels.astype(np.float64)
    n = len(labels)
    count = labels.sum(axis=0)
    # n² times covariances and variances are whole numbers.
    covariance = n * (labels.T @ labels) - np.outer(count, count)
    variance = count * (n - count)
    scale = np.sqrt(np.outer(variance, variance))
    correlations = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    np.fill_diagonal(correlations, 1)
    return correlations


def correlation_threshold(n_samples: int) -> float:
    """Compute λ_n, the 95 % quantile of absolute correlations of independent labels (equation 2).

    Parameters
    ----------
    n_samples : int
        Number of instances, at least 1.

    Returns
    -------
    float
        1.96/√(n - 1). It is above 1 for fewer than five instances and infinite for one, so that no
        correlation is significant.

    Raises
    ------
    ValueError
        If `n_samples` is not a positive integer.

    Examples
    --------
    >>> round(correlation_threshold(101), 3)
    0.196
    """
    check_domain("n_samples", n_samples, Number(low=1, whole=True))
    return float(1.96 / np.sqrt(n_samples - 1)) if n_samples > 1 else float("inf")


def cluster_labels(Y: Any, *, threshold: float | None = None) -> list[NDArray[np.intp]]:
    """Cluster labels by single linkage over their absolute correlations (Algorithm 2).

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Zeros and ones.
    threshold : float, optional
        Labels whose absolute correlation exceeds it are in the same cluster. Default: λ for the
        number of rows.

    Returns
    -------
    list of int arrays
        Ascending indices of the labels of each cluster, in the order of the first labels.

    Examples
    --------
    >>> cluster_labels([[1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1]], threshold=0.5)
    [array([0, 1]), array([2])]
    """
    correlations = np.abs(label_correlations(Y))
    np.fill_diagonal(correlations, 0)
    cut = correlation_threshold(np.shape(Y)[0]) if threshold is None else threshold
    _, cluster = connected_components(correlations > cut, directed=False)
    clusters = [np.flatnonzero(cluster == c) for c in range(cluster.max() + 1)]
    return sorted(clusters, key=lambda labels: int(labels[0]))
