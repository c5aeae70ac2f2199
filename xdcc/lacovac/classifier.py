"""``LaCovaCClassifier``: one tree that separates labels only where they are locally independent.

The tree is grown by ``tree.py``; this file reads predictions from the leaves that an instance
reaches. With other values of `criterion` and `clustering` the same code gives LaCova and ML-C4.5.
"""

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from xdcc.base.domains import Number, check_domain
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.lacovac import _leaves
from xdcc.lacovac.estimator import BaseLabelTrees
from xdcc.lacovac.tree import LabelTrees, LeafLabelsets


class LaCovaCClassifier(BaseLabelTrees):
    """A decision tree that splits labels as well as data (Al-Otaibi, Kull and Flach, 2016).

    At every node the labels are clustered by their correlations. Clusters go separate ways, which
    is a vertical split; labels that hang together are learned jointly, and their instances are
    divided by a feature, a horizontal split. A leaf predicts its most frequent labelset.

    Parameters
    ----------
    {splitting}
    {size}
    min_samples_leaf : int, default=5
        Fewest instances of a child of a horizontal split.
    {leaves}
    {n_jobs}

    Attributes
    ----------
    tree_ : LabelTrees
        The tree as arrays.
    {fitted}
    {categories}

    Notes
    -----
    NaN in X is a missing value. What a sparse X does not store is 0, not missing; X is not made
    dense, unless more than half of it is not 0. In training, rows with a missing value go to the
    side of a numeric split that gives the better score, and to the largest branch of a nominal
    one; where no value was missing, missing values and categories without a branch go to the
    larger side.

    Among equal splits the one on the last feature is taken. In the toy data of the paper's Table 1
    both features score 5/2 at the node {crime, horror}, and its Figure 1 has the last.

    The paper says of LaCova only that it separates all labels or none by their covariances. The
    test here is ours: independent labels j and k have a covariance of mean 0 and variance
    Var_j Var_k / (n - 1), and the sum of its absolute values is compared with its mean plus 1.96
    standard deviations, pairs taken as independent and normal.

    The paper says that leaves have at least 5 instances and nodes with clusters more than 5, which
    are the defaults. Its tables are reproduced better by ``min_samples_leaf=1`` together with
    ``min_samples_split=6``, the m of Algorithm 1 (`experiments/papers/lacovac-2016/NOTES.md`).

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.LaCovaCClassifier(max_depth=2).fit(data.X, data.Y)
    >>> model.predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 0]])
    >>> xdcc.lacovac.export_text(model).splitlines()[0]  # a tree of its own for two labels
    '|--- labels: label_0, label_1'
    """

    _stored = MappingProxyType({"tree_": LabelTrees})

    tree_: LabelTrees

    def _grow(self, data: FitData, categorical: NDArray[np.bool_]) -> None:
        rows = np.arange(len(data.Y), dtype=np.int32)[np.newaxis]
        seeds = np.zeros(1, np.uint64)
        self.tree_ = self._trees(data, categorical, rows, seeds)

    def _labels(self, X: Features) -> NDArray[np.int64]:
        predicted = _leaves.predict(self.tree_, 0, X, self._n_threads())
        return predicted.astype(np.int64)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return _leaves.mean_proba(self.tree_, self.smoothing, X, self._n_threads())

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf that decides each label. Vertical splits lead an instance into several leaves.

        {takes_X}

        Returns
        -------
        int32 array of shape (n_samples, n_labels)
            Numbers of nodes of `tree_`.

        {raises_in_predict}
        """
        checked = self._check_X(X)
        return _leaves.apply(self.tree_, 0, checked, self._n_threads())

    def decision_path(self, X: Any) -> sparse.csr_array:
        """Nodes that instances pass: below a vertical split, in all of its children.

        {takes_X}

        Returns
        -------
        bool CSR array of shape (n_samples, n_nodes)
            Whether an instance passes a node.

        {raises_in_predict}
        """
        leaves = self.apply(X)
        n_nodes = self.tree_.n_nodes
        rows = np.repeat(np.arange(len(leaves)), self.n_labels_)
        ones = np.ones(leaves.size, np.int32)
        reached = sparse.csr_array((ones, (rows, leaves.ravel())), shape=(len(leaves), n_nodes))
        return (reached @ _ancestors(self.tree_)).astype(bool)

    def leaf_labelsets(self, leaf: int) -> LeafLabelsets:
        """Labelsets of a leaf with their relative frequencies, the predicted one first.

        Parameters
        ----------
        leaf : int
            Number of a leaf, as `apply` returns it.

        Returns
        -------
        LeafLabelsets

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If there is no such leaf.
        """
        check_is_fitted(self)
        check_domain("leaf", leaf, Number(low=0, high=self.tree_.n_nodes - 1, whole=True))
        return self.tree_.labelsets(int(leaf))

    def get_depth(self) -> int:
        """Largest number of horizontal splits on a path.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """Count the leaves.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return len(self.tree_.leaves)


def _ancestors(tree: LabelTrees) -> sparse.csr_array:
    """Row of each node: 1 for itself and every node above it."""
    parent = np.full(tree.n_nodes, -1)
    above: list[list[int]] = []
    for node in range(tree.n_nodes):
        parent[tree.children(node)] = node
        # Parents come before their children.
        above.append([*(above[parent[node]] if parent[node] >= 0 else []), node])
    indptr = np.cumsum([0, *map(len, above)])
    indices = np.concatenate(above)
    return sparse.csr_array((np.ones(len(indices), np.int32), indices, indptr))
