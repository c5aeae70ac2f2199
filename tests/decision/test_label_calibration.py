"""Calibrated labels, of which some never vary."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from xdcc.decision.calibration import calibrate
from xdcc.decision.label_calibration import LabelCalibration, calibrate_labels

NAN = np.nan


def drawn(seed=0):
    random = np.random.default_rng(seed)
    margins = random.normal(size=(120, 3))
    Y = (random.normal(size=margins.shape) < 2 * margins - 0.5).astype(float)
    return margins, Y, np.arange(120) % 4


def test_labels_that_vary_are_calibrated_as_if_alone():
    margins, Y, folds = drawn()
    alone = calibrate(margins, Y, np.ones(120), folds)
    with_constant = np.insert(Y, 1, 1.0, axis=1)
    found = calibrate_labels(np.insert(margins, 1, -5.0, axis=1), with_constant, None, folds)
    varies = [0, 2, 3]
    assert_array_equal(found.proba[:, varies], alone.proba)
    assert_array_equal(found.calibration.slope[varies], alone.scaling.slope)
    assert_allclose(
        found.calibration.proba(np.insert(margins, 1, 3.0, axis=1))[:, varies],
        alone.scaling.proba(margins),
    )
    assert_allclose(found.proba[:, 1], 121 / 122)
    settled = found.calibration.settle(np.zeros((2, 4), dtype=np.int64))
    assert_array_equal(settled, [[0, 1, 0, 0]] * 2)


def test_only_what_counts_makes_a_label_vary():
    Y = np.array([[1, NAN, NAN, 0], [1, 1, NAN, 1], [0, 0, NAN, 0]])
    found = LabelCalibration.without_scaling(Y, np.array([1.0, 2.0, 0.0]))
    assert_array_equal(found.constant.value, [1, 1, 0, NAN])
    assert_allclose(found.constant.proba, [3 / 4, 2 / 3, 1 / 2, NAN])
    assert_array_equal(found.varies, [False, False, False, True])
    assert_allclose(found.proba(np.zeros((1, 4))), [[3 / 4, 2 / 3, 1 / 2, 1 / 2]])


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_nothing_varies(value):
    found = calibrate_labels(np.ones((6, 2)), np.full((6, 2), value), None, np.arange(6) % 2)
    assert_allclose(found.proba, 7 / 8 if value else 1 / 8)
