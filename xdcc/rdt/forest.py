"""``Forest``: random decision trees as arrays, and how they are built from checked data.

All trees lie in one set of arrays: tree `t` has the nodes ``start[t]`` to ``start[t + 1]``, its
root first, and a node's children lie side by side from ``child`` on. :func:`grow_forest` encodes
what the kernel that grows trees needs (``_forest_growing.pyx``); :func:`read_forest` asks a forest
for posteriors (``_forest_reading.pyx``). Trees are drawn, not fitted: features, labels and
thresholds are random.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.categories import category_values
from xdcc.base.documentation import documented_with
from xdcc.base.features import Features
from xdcc.base.labels import Labels
from xdcc.rdt import _forest_growing, _forest_reading

documented_tree = documented_with(
    {
        "forest": """
            forest : Forest
                The trees.
            """,
        "rule": """
            rule : ChainRule
                How the chain decides.
            """,
        "weighting": """
            weighting : Weighting
                How trees are weighed.
            """,
        "sigma": """
            sigma : float
                Share of the label tests that are active.
            """,
        "n_threads": """
            n_threads : int
                Number of threads.
            """,
    }
)
"""Fills in what the documentation of random trees shares, as a decorator."""


@dataclass(frozen=True)
class Forest:
    """Random decision trees.

    Attributes
    ----------
    start : int64 array of shape (n_trees + 1,)
        First node of each tree.
    kind : int8 array of shape (n_nodes,)
        What a node is: a number of `KINDS`.
    index : int32 array of shape (n_nodes,)
        Its feature, its label, the leaf's number, or where its features begin in `disjunction`.
    threshold : float32 array of shape (n_nodes,)
        A numeric test sends larger values to the second child. A label test is active where
        sigma is larger than its threshold, a draw from [0, 1).
    value : float32 array of shape (n_nodes,)
        The value of the parent's discrete or label test that leads to a node.
    child, branches : int32 arrays of shape (n_nodes,)
        First child, number of children.
    disjunction : int32 array
        Features of disjunctions, each list ended by -1.
    leaf_size : int32 array of shape (n_leaves,)
        N: training instances in each leaf.
    label_start : int64 array of shape (n_leaves + 1,)
        Leaf `k` has the labels ``label[label_start[k]:label_start[k + 1]]``.
    label, label_count : int32 arrays
        Labels that are positive in a leaf, and in how many instances.
    labelset_start, labelset, labelset_count : arrays
        The same for labelsets.
    n_labels, n_labelsets : int
        How many there are.
    """

    start: NDArray[np.int64]
    kind: NDArray[np.int8]
    index: NDArray[np.int32]
    threshold: NDArray[np.float32]
    value: NDArray[np.float32]
    child: NDArray[np.int32]
    branches: NDArray[np.int32]
    disjunction: NDArray[np.int32]
    leaf_size: NDArray[np.int32]
    label_start: NDArray[np.int64]
    label: NDArray[np.int32]
    label_count: NDArray[np.int32]
    labelset_start: NDArray[np.int64]
    labelset: NDArray[np.int32]
    labelset_count: NDArray[np.int32]
    n_labels: int
    n_labelsets: int


class TreeShape(NamedTuple):
    """How trees are drawn.

    Attributes
    ----------
    max_depth : int
        Most tests on a path.
    min_samples_split : int
        Fewest instances of a node that gets a test.
    label_test_fraction : float
        Probability that a test is on a label.
    disjunction_size : int
        Number of sparse features that a test joins.
    retry : bool
        Whether a test that does not divide a node's instances is drawn again; otherwise it
        counts as a level of the tree.
    """

    max_depth: int
    min_samples_split: int
    label_test_fraction: float
    disjunction_size: int
    retry: bool


class Weighting(NamedTuple):
    """How trees are weighed when an instance is predicted.

    Attributes
    ----------
    gini : bool
        Whether by the inverted Gini index (equation 3).
    size_exponent : float
        Power of the number of instances in the reached leaves that the weight is multiplied by.
    """

    gini: bool
    size_exponent: float


@documented_tree
def grow_forest(
    X: Features,
    Y: Labels,
    labelset: NDArray[np.int32],
    categorical: NDArray[np.bool_],
    shape: TreeShape,
    seeds: NDArray[np.uint64],
    n_threads: int,
) -> Forest:
    """Draw a forest and count the training instances in its leaves.

    Parameters
    ----------
    {features_with_zeros}
    {zeros_and_ones}
    labelset : int32 array of shape (n_samples,)
        Number of each row's labelset, from 0.
    categorical : bool array of shape (n_features,)
        Which features are discrete: a test has a branch for each value.
    shape : TreeShape
        How trees are drawn.
    seeds : uint64 array of shape (n_trees,)
        A seed for each tree.
    n_threads : int
        Number of threads; it does not change the forest.

    Returns
    -------
    Forest
    """
    # Converting to CSC sorts the rows of each column, which the kernel searches.
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


@documented_tree
def read_forest(
    forest: Forest,
    X: Features,
    weighting: Weighting,
    *,
    sigma: float,
    known: NDArray[np.int8] | None = None,
    labelsets: bool = False,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Posteriors of labels or labelsets (equations 1, 2 and 4), every tree walked from its root.

    Parameters
    ----------
    {forest}
    {features}
    {weighting}
    {sigma}
    known : int8 array of shape (n_samples, n_labels), optional
        0, 1, or -1 where the label is not known; nothing is known if None.
    labelsets : bool, default=False
        Whether the posteriors are those of labelsets.
    {n_threads}

    Returns
    -------
    proba : float64 array of shape (n_samples, n_labels or n_labelsets)
        Posteriors.
    number : float64 array of shape (n_samples,)
        R, the estimated number of positive labels, not rounded.
    """
    proba, number = _forest_reading.posteriors(
        forest, X, known, labelsets, sigma, weighting, n_threads
    )
    return proba, number


def _mostly_zero(X: Any) -> NDArray[np.bool_]:
    """Features that are 0 in more than half of the rows."""
    n_samples, n_features = X.shape
    other = X.getnnz(axis=0) if sparse.issparse(X) else np.count_nonzero(X, axis=0)
    return np.asarray(2 * other < n_samples).reshape(n_features)


def _many_valued(category_start: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Discrete features of more than two values: these are not there or absent, but of a kind."""
    return np.diff(category_start) > 2
