"""The matrix [X | P]: dense in place, sparse with every known value stored."""

import numpy as np
from scipy import sparse

from xdcc.chain.label_features import LabelFeatures

NAN = np.nan
X = np.array([[1, 0, 2], [0, 0, 3], [NAN, 0, 0]], dtype=np.float32)


def test_dense_shows_what_is_written_to_P() -> None:
    features = LabelFeatures(X, 2)
    joined = features.joined()
    np.testing.assert_array_equal(joined, np.hstack((X, np.full((3, 2), NAN))))
    features.P[1, 0] = 0.25
    assert joined[1, 3] == 0.25
    assert features.joined() is joined
    assert joined.flags.c_contiguous


def test_dense_leaves_X_alone() -> None:
    before = X.copy()
    LabelFeatures(X, 2).P[:] = 1
    np.testing.assert_array_equal(X, before)


def test_sparse_stores_known_labels_even_if_zero_and_nothing_else() -> None:
    stored = sparse.csr_matrix(X)
    features = LabelFeatures(stored, 2)
    assert features.joined().nnz == stored.nnz
    assert features.joined().shape == (3, 5)
    features.P[0, 1] = 0
    features.P[2, 0] = 0.75
    joined = features.joined()
    assert isinstance(joined, sparse.csr_matrix)
    entries = {(int(i), int(j)): float(v) for i, j, v in zip(*sparse.find(stored), strict=True)}
    coo = joined.tocoo()
    found = dict(
        zip(zip(coo.row.tolist(), coo.col.tolist(), strict=True), coo.data.tolist(), strict=True)
    )
    assert found.keys() == entries.keys() | {(0, 4), (2, 3)}
    assert found[0, 4] == 0
    assert found[2, 3] == 0.75
    assert joined.has_sorted_indices
    assert joined.dtype == features.P.dtype == np.float32


def test_sparse_keeps_stored_zeros_of_X() -> None:
    with_zero = sparse.csr_matrix(
        (np.zeros(1, dtype=np.float32), np.array([1]), np.array([0, 1])), shape=(1, 2)
    )
    features = LabelFeatures(with_zero, 1)
    features.P[0, 0] = 0.5
    np.testing.assert_array_equal(features.joined().indices, [1, 2])
