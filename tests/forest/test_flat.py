"""The flat form of forests."""

import numpy as np
from scipy import sparse

from xdcc.forest import flat


def test_equal_leaves_are_one_even_if_hashes_collide(monkeypatch):
    random = np.random.default_rng(0)
    dense = random.integers(0, 3, (200, 4)) / 3 * (random.random((200, 4)) < 0.5)
    for name in ("few", "none"):
        if name == "none":
            monkeypatch.setattr(
                flat, "_row_hashes", lambda matrix: np.zeros(matrix.shape[0], np.uint64)
            )
        rows, number = flat._distinct_rows(sparse.csr_array(dense))
        np.testing.assert_array_equal(rows.toarray()[number], dense)
        if name == "few":
            assert rows.shape[0] == len(np.unique(dense, axis=0))
