"""``Forest``: random decision trees stored as arrays.

All trees share one set of arrays: tree `t` has the nodes ``start[t]`` to ``start[t + 1]``, root
first, and the children of a node are contiguous, starting at ``child``. :func:`grow_forest` grows a
forest with random tests (``_forest_growing.pyx``); :func:`forest_posteriors` predicts posteriors
(``_forest_prediction.pyx``).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.categories import category_values
from xdcc.base.features import Features
from xdcc.base.labels import Labels
from xdcc.comparators.rdt import _forest_growing, _forest_prediction


@dataclass(frozen=True)
class Forest:
    """Random decision trees.

    Leaf `k` has the labels ``label[label_start[k]:label_start[k + 1]]``, and so for labelsets. A
    label test is active if sigma is larger than its threshold, a random number from [0, 1).
    """

    start: NDArray[np.int64]  # (n_trees + 1,) first node of each tree
    kind: NDArray[np.int8]  # (n_nodes,) one of `KINDS`
    index: NDArray[np.int32]  # feature, label, leaf, or first entry in `disjunction`
    threshold: NDArray[np.float32]  # a numeric test sends larger values to the second child
    value: NDArray[np.float32]  # outcome of the parent's discrete or label test
    child: NDArray[np.int32]  # first child
    branches: NDArray[np.int32]  # number of children
    disjunction: NDArray[np.int32]  # features of disjunctions; each list ends with -1
    leaf_size: NDArray[np.int32]  # (n_leaves,) N, the number of training instances
    label_start: NDArray[np.int64]
    label: NDArray[np.int32]  # labels that are positive in a leaf
    label_count: NDArray[np.int32]  # number of their positive instances
    labelset_start: NDArray[np.int64]
    labelset: NDArray[np.int32]
    labelset_count: NDArray[np.int32]
    n_labels: int
    n_labelsets: int

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what prediction derives."""
        return {name: value for name, value in vars(self).items() if name != "_nodes"}

    @cached_property
    def _nodes(self) -> NDArray[np.int32]:
        """The fields of a node that a step reads: `Node` in ``_forest_prediction.pyx``."""
        columns = self.index, self.threshold.view(np.int32), self.child
        return np.column_stack((*columns, self.branches << 3 | self.kind))


class TreeShape(NamedTuple):
    """Checked settings of the trees."""

    max_depth: int
    min_samples_split: int
    label_test_fraction: float
    disjunction_size: int
    retry: bool  # whether a test that does not split a node counts as no level of the tree


class Weighting(NamedTuple):
    """Weights of the trees in prediction."""

    gini: bool  # whether to weight by the inverted Gini index (equation 3)
    size_exponent: float  # the weight has the reached leaves' size to this power as a factor


def grow_forest(
    X: Features,
    Y: Labels,
    labelset: NDArray[np.int32],
    categorical: NDArray[np.bool_],
    shape: TreeShape,
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> Forest:
    """Grow one random tree per seed and count the training instances in its leaves.

    `labelset` (n_samples,) numbers the labelsets of the rows from 0. `categorical` (n_features,)
    marks discrete features, whose tests have a branch for each value.
    """
    # Conversion to CSC sorts the rows of each column, so the kernel can use bisection.
    columns: Any = sparse.csc_matrix(X) if sparse.issparse(X) else np.asfortranarray(X)
    categories = category_values(columns, categorical)
    is_sparse = _mostly_zero(columns) & ~_many_valued(categories[1])
    arrays = _forest_growing.grow(
        columns,
        categories,
        is_sparse.view(np.uint8),
        np.asfortranarray(Y, dtype=np.uint8),
        labelset,
        shape,
        seeds,
        n_threads,
    )
    return Forest(**arrays, n_labels=Y.shape[1], n_labelsets=int(labelset.max()) + 1)


def forest_posteriors(
    forest: Forest,
    X: Features,
    weighting: Weighting,
    *,
    sigma: float,
    known: NDArray[np.int8] | None = None,
    labelsets: bool = False,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Predict the posteriors of labels or labelsets (equations 1, 2 and 4).

    `known` (n_samples, n_labels) is 0, 1, or -1 for labels that are not known. Returns the
    posteriors (n_samples, n_labels or n_labelsets) and R (n_samples,), the estimated number of
    positive labels before rounding.
    """
    return _forest_prediction.posteriors(forest, X, known, labelsets, sigma, weighting, n_threads)


def _mostly_zero(X: Any) -> NDArray[np.bool_]:
    """Mark the features that are 0 in more than half of the rows."""
    n_samples, n_features = X.shape
    other = X.getnnz(axis=0) if sparse.issparse(X) else np.count_nonzero(X, axis=0)
    return np.asarray(2 * other < n_samples).reshape(n_features)


def _many_valued(category_start: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mark discrete features with more than two values, for which 0 does not mean absence."""
    return np.diff(category_start) > 2
