"""The labels of the rows in the leaves of extra trees, as matrices."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from xdcc.forest.forest import ExtraTrees


class LeafShares(NamedTuple):
    """Shares of the weights of leaves.

    Attributes
    ----------
    positive : CSR array of shape (n_leaves, n_labels)
        Share that has the label.
    unknown : CSR array of shape (n_leaves, n_labels)
        Share in which it is unknown; without entries if all labels are known everywhere.
    """

    positive: sparse.csr_array
    unknown: sparse.csr_array


def leaf_shares(forest: ExtraTrees) -> LeafShares:
    """Compute the shares of each leaf.

    Examples
    --------
    >>> import xdcc
    >>> X, Y = np.arange(6.0)[:, np.newaxis], np.eye(3, dtype=int)[[0, 0, 1, 1, 2, 2]]
    >>> model = xdcc.SketchedExtraTreesClassifier(1, min_samples_leaf=2).fit(X, Y)
    >>> leaf_shares(model.forest_).positive.toarray()
    array([[1. , 0. , 0. ],
           [0. , 0.5, 0.5]])
    """
    labels, n_leaves = forest.labels, len(forest.leaf_weight)
    n_rows = len(labels.positive_start) - 1
    weight = labels.weight if len(labels.weight) else np.ones(n_rows, np.float32)
    of_row = weight[forest.row].astype(np.float64)
    of_row /= np.repeat(forest.leaf_weight, np.diff(forest.row_start))
    rows = sparse.csr_array((of_row, forest.row, forest.row_start), shape=(n_leaves, n_rows))
    shares = sparse.csr_array(
        (forest.share.astype(np.float64), forest.label, forest.label_start),
        shape=(n_leaves, labels.n_labels),
    )
    positive = rows @ labels.positive_rows
    return LeafShares(
        sparse.csr_array(positive + shares if shares.nnz else positive),
        sparse.csr_array(rows @ labels.unknown_rows),
    )
