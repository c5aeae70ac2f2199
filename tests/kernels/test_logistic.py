"""`expit` is SciPy's, bit for bit."""

import numpy as np
from scipy import special

from xdcc.kernels.logistic import expit


def test_as_scipy():
    values = np.random.default_rng(0).normal(scale=[[1.0], [20.0], [300.0]], size=(3, 20000))
    extreme = [0.0, -0.0, np.inf, -np.inf, np.nan, 88.8, -88.8, 1e-30, 710.0, -745.2]
    values = np.hstack((values, np.tile(extreme, (3, 1))))
    for given in (values, values.T, values[:, ::3], values[:0], values[0, 0], np.float32([3, 4])):
        found, expected = expit(given), special.expit(np.asarray(given, np.float64))
        assert found.dtype == np.float64
        assert found.shape == expected.shape
        assert np.array_equal(found, expected, equal_nan=True)
