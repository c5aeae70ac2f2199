"""Turning "which label in which round" into "which round for which label"."""

import numpy as np

from xdcc.chain.order import ChainOrder


def test_rounds_of_labels() -> None:
    labels = np.array([[2, 0], [1, -1], [-1, 1]])
    order = ChainOrder(labels, np.zeros(labels.shape, dtype=np.float32))
    np.testing.assert_array_equal(order.rounds(3), [[2, 3, 1], [3, 1, 3], [3, 2, 3]])
