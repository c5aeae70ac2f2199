"""X as the Cython kernels take it."""

import numpy as np
import pytest
from scipy import sparse

from xdcc.base.kernel_features import category_values, kernel_rows, sparse_parts

X = np.array([[3, 0, 1], [0, 0, 2], [3, np.nan, 1]], dtype=np.float32)


def test_rows_of_a_dense_array():
    dense, parts, n_rows, n_features = kernel_rows(X)
    assert dense is X
    assert parts is None
    assert (n_rows, n_features) == (3, 3)


def test_rows_of_a_sparse_matrix():
    thin = sparse.csr_matrix(X)
    dense, (data, indices, indptr), n_rows, n_features = kernel_rows(thin)
    assert dense is None
    assert (n_rows, n_features) == (3, 3)
    assert (data.dtype, indices.dtype, indptr.dtype) == (np.float32, np.int32, np.int64)
    np.testing.assert_array_equal(
        sparse.csr_array((data, indices, indptr), shape=X.shape).toarray(), X
    )


def test_a_dense_array_has_no_sparse_parts():
    assert sparse_parts(X) is None


@pytest.mark.parametrize("convert", [np.asarray, sparse.csc_matrix])
def test_values_of_categories(convert):
    """What a sparse X does not store is 0, and NaN is no value."""
    values, start = category_values(convert(X), np.array([True, True, False]))
    assert values.dtype == np.float32
    assert start.dtype == np.int32
    assert values.tolist() == [0, 3, 0]
    assert start.tolist() == [0, 2, 3, 3]


def test_no_categories():
    values, start = category_values(X, np.zeros(3, dtype=bool))
    assert values.shape == (0,)
    assert start.tolist() == [0, 0, 0, 0]
