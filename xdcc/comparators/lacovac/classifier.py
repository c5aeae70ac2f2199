"""``LaCovaCClassifier``: one tree that separates labels where they are locally independent.

``tree.py`` grows the tree, ``_leaves.pyx`` predicts. Other values of `criterion` and `clustering`
give LaCova and ML-C4.5.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from xdcc.base.domains import Number, check_domain
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.stored import stored
from xdcc.base.stored_types import Of
from xdcc.comparators.lacovac import _leaves
from xdcc.comparators.lacovac.estimator import BaseLabelTrees
from xdcc.comparators.lacovac.tree import LabelTrees, LeafLabelsets


@stored
class LaCovaCClassifier(BaseLabelTrees):
    """A decision tree that splits labels as well as data (Al-Otaibi, Kull and Flach, 2016).

    At each node, the labels are clustered by their correlations. A vertical split gives each
    cluster a subtree of its own. Within a cluster, labels are learned jointly, and a horizontal
    split divides the instances by a feature. A leaf predicts its most frequent labelset.

    Parameters
    ----------
    {splitting}
    {size}
    min_samples_leaf : int, default=5
        Minimum number of instances of a child of a horizontal split.
    {leaves}
    {n_jobs}
    {unknown_categories}

    Attributes
    ----------
    tree_ : LabelTrees
        The tree, stored as arrays.
    {fitted}
    {categories}

    Notes
    -----
    NaN in X is a missing value. Entries that a sparse X does not store are 0, not missing. A sparse
    X stays sparse unless more than half of its entries are not 0. In training, rows with a missing
    value go to the side of a numeric split with the better score, and to the largest branch of a
    nominal split. If no value was missing in training, missing values go to the larger side.
    Categories without a branch go to the largest branch.

    Ties between splits go to the last feature. In the toy data of the paper's Table 1, both
    features score 5/2 at the node {crime, horror}, and Figure 1 shows the last one.

    The paper says only that LaCova separates all labels or none by their covariances. The test
    here is our own: for independent labels j and k, the covariance has mean 0 and variance
    Var_j Var_k / (n - 1). The sum of the absolute covariances is compared with its mean plus 1.96
    standard deviations, assuming that pairs are independent and normal.

    The defaults follow the text of the paper: leaves have at least 5 instances, and nodes with
    clusters more than 5. To reproduce its tables, ``min_samples_leaf=1`` with
    ``min_samples_split=6``, the m of Algorithm 1, is better
    (`experiments/papers/lacovac-2016/NOTES.md`).

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.LaCovaCClassifier(max_depth=2).fit(data.X, data.Y)
    >>> model.predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 0]])
    >>> xdcc.comparators.lacovac.export_text(model).splitlines()[0]  # the subtree of two labels
    '|--- labels: label_0, label_1'
    """

    tree_: Annotated[LabelTrees, Of(n_labels="n_labels_", n_features="n_features_in_")]

    def _grow(self, data: FitData) -> None:
        rows = np.arange(len(data.Y), dtype=np.int32)[np.newaxis]
        seeds = np.zeros(1, np.uint64)
        self.tree_ = self._trees(data, rows, seeds)

    def _labels(self, X: Features) -> NDArray[np.int64]:
        predicted = _leaves.predict(self.tree_, X, self._n_threads())[:, 0]
        return predicted.astype(np.int64)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return _leaves.mean_proba(self.tree_, self.smoothing, X, self._n_threads())

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that predicts each label; vertical splits lead to several leaves.

        {takes_X}

        Returns
        -------
        int32 array of shape (n_samples, n_labels)
            Indices of nodes of `tree_`.

        {raises_in_predict}
        """
        checked = self._read_X(X)
        return _leaves.apply(self.tree_, 0, checked, self._n_threads())

    def decision_path(self, X: Any) -> sparse.csr_array:
        """Return the nodes on the paths of instances, which follow all branches of vertical splits.

        {takes_X}

        Returns
        -------
        bool CSR array of shape (n_samples, n_nodes)
            Whether an instance reaches a node.

        {raises_in_predict}
        """
        leaves = self.apply(X)
        n_nodes = self.tree_.n_nodes
        rows = np.repeat(np.arange(len(leaves)), self.n_labels_)
        ones = np.ones(leaves.size, np.int32)
        reached = sparse.csr_array((ones, (rows, leaves.ravel())), shape=(len(leaves), n_nodes))
        return (reached @ _ancestors(self.tree_)).astype(bool)

    def leaf_labelsets(self, leaf: int) -> LeafLabelsets:
        """Return the labelsets of a leaf and their relative frequencies, the predicted one first.

        Parameters
        ----------
        leaf : int
            Index of a leaf, as returned by `apply`.

        Returns
        -------
        LeafLabelsets

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `leaf` is not a leaf.
        """
        check_is_fitted(self)
        check_domain("leaf", leaf, Number(low=0, high=self.tree_.n_nodes - 1, whole=True))
        return self.tree_.labelsets(int(leaf))

    def get_depth(self) -> int:
        """Return the depth of the tree: the maximum number of horizontal splits on a path.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return len(self.tree_.leaves)


def _ancestors(tree: LabelTrees) -> sparse.csr_array:
    """Return a row for each node, which marks the node and its ancestors."""
    parent = np.full(tree.n_nodes, -1)
    above: list[list[int]] = []
    for node in range(tree.n_nodes):
        parent[tree.children(node)] = node
        # Parents precede their children.
        above.append([*(above[parent[node]] if parent[node] >= 0 else []), node])
    indptr = np.cumsum([0, *map(len, above)])
    indices = np.concatenate(above)
    return sparse.csr_array((np.ones(len(indices), np.int32), indices, indptr))
