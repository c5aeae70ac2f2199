"""The values of discrete features, as the Cython kernels take them."""

import numpy as np
import pytest
from scipy import sparse

from xdcc.base.kernel_features import category_values

X = np.array([[3, 0, 1], [0, 0, 2], [3, np.nan, 1]], dtype=np.float32)


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
