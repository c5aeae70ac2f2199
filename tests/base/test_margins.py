"""Margins of probabilities."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from xdcc.base.margins import margins_of


def test_margins_are_finite():
    proba = np.array([[0.0, 1.0, 0.25]], dtype=np.float32)
    found = margins_of(proba)
    assert found.dtype == np.float64
    assert_allclose(found, [[logit(1e-6), logit(1 - 1e-6), logit(0.25)]])
    assert_allclose(expit(found), proba, atol=2e-6)
