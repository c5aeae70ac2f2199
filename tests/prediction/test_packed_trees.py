"""Batches walk packed trees; what is too large to be packed is walked as single rows are."""

import numpy as np
import pytest
from scipy import sparse

from xdcc.prediction._kernel import Kernel
from xdcc.prediction.builder import MISSING_RIGHT, LayoutBuilder, Nodes


class Heap:
    """A forest of one tree: test i, of one feature after the other, has children 2i + 1, 2i + 2.

    Missing values go left in the first test of a feature, right in the next, and so on.
    """

    def __init__(self, n_tests, n_features, threshold):
        self.n_tests, self.n_features, self.threshold = n_tests, n_features, threshold

    def leaf(self, row):
        """Walk to a leaf."""
        node = 0
        while node < self.n_tests:
            value = row[node % self.n_features]
            missing_right = node // self.n_features % 2
            to_right = missing_right if np.isnan(value) else value >= self.threshold[node]
            node = 2 * node + 1 + to_right
        return node - self.n_tests

    def _add_to(self, builder):
        node = np.arange(2 * self.n_tests + 1)
        n_leaves = self.n_tests + 1
        is_leaf = node >= self.n_tests
        slot = (node % self.n_features << 2) + MISSING_RIGHT * (node // self.n_features % 2)
        children = np.where(is_leaf, 0, 2 * node + 1), np.where(is_leaf, 0, 2 * node + 2)
        nodes = Nodes(
            *children, self.threshold, slot.astype(np.int32), node - self.n_tests, is_leaf
        )
        shares = np.column_stack((np.arange(1, n_leaves + 1) / (n_leaves + 1), np.zeros(n_leaves)))
        builder.add_forest(
            nodes,
            np.zeros(1, np.intp),
            is_leaf.astype(float),
            sparse.csr_array(shares),
            np.array([0.5]),
            has_unknown=False,
        )


@pytest.mark.parametrize("more", [-1, 0, 1], ids=["fewer", "most", "too many"])
@pytest.mark.parametrize(("n_features", "most_tests"), [(255, 2**18 - 1), (256, 2**14 - 1)])
def test_the_last_node_is_reached(n_features, most_tests, more):
    random = np.random.default_rng(0)
    n_tests = most_tests + more
    tree = Heap(n_tests, n_features, random.random(2 * n_tests + 1, np.float32))
    ones, zeros = np.ones(1), np.zeros(1)
    builder = LayoutBuilder(n_features, 1)
    builder.add_member([tree], 1.0, ones, zeros)
    kernel = Kernel(builder.build((ones, zeros)))
    X = random.random((64, n_features), np.float32)
    X[40:][random.random((24, n_features)) < 0.3] = np.nan
    X[0], X[1] = 0, 1  # all to the left, and all to the right
    margins = kernel.predict(X, 1)
    alone = np.vstack([kernel.predict(X[row : row + 1], 1) for row in range(64)])
    np.testing.assert_array_equal(margins, alone)
    # Margins ascend with the number of the leaf.
    leaves = [tree.leaf(row) for row in X]
    order = np.argsort(leaves, kind="stable")
    np.testing.assert_array_equal(np.argsort(margins[:, 0], kind="stable"), order)
