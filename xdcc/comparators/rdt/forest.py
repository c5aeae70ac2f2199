"""``Forest``: random decision trees stored as arrays.

All trees share one set of arrays: tree `t` has the nodes ``start[t]`` to ``start[t + 1]``, root
first, and the children of a node are contiguous, starting at ``child``. :func:`grow_forest` grows a
forest with random tests (``_forest_growing.pyx``); :func:`forest_posteriors` predicts posteriors
(``_forest_prediction.pyx``).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.categories import category_values
from xdcc.base.features import Features
from xdcc.base.labels import Labels
from xdcc.base.state_checks import check_counts, check_indices, check_tree, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Below, In, Shape, Starts, Within
from xdcc.comparators.rdt import _forest_growing, _forest_prediction
from xdcc.comparators.rdt._forest_growing import KINDS


@stored
@dataclass(frozen=True)
class Forest:
    """Random decision trees.

    Leaf `k` has the labels ``label[label_start[k]:label_start[k + 1]]``, and so for labelsets. A
    label test is active if sigma is larger than its threshold, a random number from [0, 1).
    """

    start: Annotated[NDArray[np.int64], Starts("kind")]  # first node of each tree
    kind: Annotated[NDArray[np.int8], Shape(None), In(KINDS.values())]  # of each node
    index: Annotated[NDArray[np.int32], Shape("kind")]
    """Feature, label, leaf, or first entry in `disjunction`."""
    threshold: Annotated[NDArray[np.float32], Shape("kind")]
    """A numeric test sends larger values to the second child."""
    value: Annotated[NDArray[np.float32], Shape("kind")]
    """Outcome of the parent's discrete or label test."""
    child: Annotated[NDArray[np.int32], Shape("kind")]  # first child
    branches: Annotated[NDArray[np.int32], Shape("kind")]  # number of children
    disjunction: Annotated[NDArray[np.int32], Shape(None), Within(-1)]
    """Features of disjunctions; each list ends with -1."""
    leaf_size: Annotated[NDArray[np.int32], Shape(None), Within(1)]
    """N, the number of training instances."""
    label_start: Annotated[NDArray[np.int64], Starts("label", "leaf_size")]
    label: Annotated[NDArray[np.int32], Shape(None), Below("n_labels")]  # positive in a leaf
    label_count: NDArray[np.int32]  # number of their positive instances
    labelset_start: Annotated[NDArray[np.int64], Starts("labelset", "leaf_size")]
    labelset: Annotated[NDArray[np.int32], Shape(None), Below("n_labelsets")]
    labelset_count: NDArray[np.int32]
    n_labels: int
    n_labelsets: int

    def _check_state(self) -> None:
        of_kind = {name: self.kind == number for name, number in KINDS.items()}
        check_tree(self.start, of_kind["leaf"], self.child, self.branches)
        two = of_kind["numeric"] | of_kind["label"] | of_kind["disjunction"]
        require((self.branches[two] == 2).all(), "branches")
        for kind, limit in (
            ("leaf", len(self.leaf_size)),
            ("label", self.n_labels),
            ("disjunction", len(self.disjunction)),
        ):
            check_indices(self.index[of_kind[kind]], limit, "index")
        require(not len(self.disjunction) or self.disjunction[-1] == -1, "disjunction")
        check_counts(self.label_count, self.leaf_size, self.label_start, "label_count")
        check_counts(self.labelset_count, self.leaf_size, self.labelset_start, "labelset_count")

    @property
    def tested_features(self) -> NDArray[np.int32]:
        """All features that nodes test."""
        of_node = np.isin(self.kind, [KINDS["numeric"], KINDS["discrete"]])
        in_disjunction = self.disjunction[self.disjunction >= 0]
        return np.concatenate((self.index[of_node], in_disjunction))

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
