"""Platt scaling against numbers by hand and reference implementations; calibration per label."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from xdcc.base.fit_data import FitData
from xdcc.decision._log_loss import log_loss_sums
from xdcc.decision.calibration import (
    LabelCalibration,
    calibrate,
    calibrate_labels,
    fit_platt,
)


def plain_loss(a, b, margins, Y, weight):
    """Platt's target function, entry by entry."""
    entries = [
        (margins[i, j], Y[i, j], weight[i])
        for i in range(len(Y))
        for j in range(Y.shape[1])
        if not np.isnan(Y[i, j])
    ]
    n_with = sum(w for _, y, w in entries if y == 1)
    n_without = sum(w for _, y, w in entries if y == 0)
    total = 0.0
    for z, y, w in entries:
        target = (n_with + 1) / (n_with + 2) if y == 1 else 1 / (n_without + 2)
        p = expit(a * z + b)
        total -= w * (target * np.log(p) + (1 - target) * np.log1p(-p))
    return total


def drawn(seed, n_rows=60, n_labels=3):
    random = np.random.default_rng(seed)
    margins = random.normal(-0.5, 2, size=(n_rows, n_labels))
    Y = (random.random(margins.shape) < expit(0.6 * margins + 0.4)).astype(float)
    return margins, Y, random.integers(1, 4, n_rows).astype(float), np.arange(n_rows) % 3


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=25, deadline=None)
def test_no_other_numbers_are_better(seed, unknown):
    margins, Y, weight, _ = drawn(seed)
    if unknown:
        Y[::5, 1] = np.nan
        Y[:55, 2] = np.nan
    a, b = fit_platt(margins, Y, weight, ~np.isnan(Y))
    least = plain_loss(a, b, margins, Y, weight)
    for da, db in [(0.02, 0), (-0.02, 0), (0, 0.02), (0, -0.02), (0.01, 0.01), (0.01, -0.01)]:
        if a + da >= 0:
            assert least <= plain_loss(a + da, b + db, margins, Y, weight) + 1e-9
    # As near as a gradient of 1e-8 is; an intercept near 0 has no relative accuracy.
    found = fit_platt(margins, Y, weight, ~np.isnan(Y), (3.0, -2.0))
    assert found == pytest.approx((a, b), abs=1e-6)


def test_common_numbers_are_fitted_to_all_labels():
    margins, Y, weight, folds = drawn(0)
    Y[10:, 2] = np.nan  # too little for numbers of its own
    scaling, calibrated = calibrate(margins, Y, weight, folds)
    known = ~np.isnan(Y)
    a, b = fit_platt(margins, Y, weight, known)
    assert (scaling.slope[2], scaling.intercept[2]) == (a, b)
    for fold in range(3):
        out = folds == fold
        a, b = fit_platt(margins, Y, weight, known & ~out[:, None])
        assert_allclose(calibrated[out, 2], a * margins[out, 2] + b, atol=1e-6)


def test_finds_what_made_the_labels():
    random = np.random.default_rng(0)
    margins = random.normal(0, 2, size=(20_000, 2))
    Y = (random.random(margins.shape) < expit(0.5 * margins - 1)).astype(float)
    scaling, calibrated = calibrate(margins, Y, np.ones(20_000), np.arange(20_000) % 5)
    # Five standard errors or so of the two numbers with 40,000 entries.
    assert_allclose(scaling.slope, 0.5, atol=0.05)
    assert_allclose(scaling.intercept, -1, atol=0.08)
    assert_allclose(expit(calibrated), expit(scaling.margins(margins)), atol=0.03)
    assert_array_equal(scaling.slope, scaling.slope[0])  # nothing to gain from numbers of its own


def test_a_label_that_is_different_has_numbers_of_its_own():
    random = np.random.default_rng(1)
    margins = random.normal(0, 2, size=(2000, 4))
    slope, intercept = np.array([1, 1, 1, 0.2]), np.array([0, 0, 0, 1.5])
    Y = (random.random(margins.shape) < expit(slope * margins + intercept)).astype(float)
    scaling = calibrate(margins, Y, np.ones(2000), np.arange(2000) % 5).scaling
    assert scaling.slope[3] == pytest.approx(0.2, abs=0.15)
    assert scaling.intercept[3] == pytest.approx(1.5, abs=0.3)
    # Rare labels have the common numbers, however different they are.
    Y[:, 3] = np.arange(2000) < 9
    scaling = calibrate(margins, Y, np.ones(2000), np.arange(2000) % 5).scaling
    common = np.flatnonzero(scaling.slope == scaling.slope[3])
    assert scaling.intercept[3] in np.delete(scaling.intercept, 3) or len(common) == 1


def test_each_row_is_scaled_without_its_fold():
    margins, Y, weight, folds = drawn(4, n_labels=1)
    before = calibrate(margins, Y, weight, folds).margins
    Y[folds == 0] = 1 - Y[folds == 0]
    after = calibrate(margins, Y, weight, folds).margins
    assert_allclose(after[folds == 0], before[folds == 0], atol=1e-6)
    assert np.abs(after[folds != 0] - before[folds != 0]).min() > 1e-3


def test_perfect_and_reversed_margins():
    Y = np.tile([[0.0], [1.0]], (30, 1))
    folds = np.arange(60) % 5
    perfect = calibrate(20 * Y - 10, Y, np.ones(60), folds)
    assert np.isfinite(perfect.scaling.slope).all()
    assert_array_equal(perfect.margins >= 0, Y == 1)
    # A slope is never negative: margins that are wrong say nothing.
    wrong = calibrate(10 - 20 * Y, Y, np.ones(60), folds)
    assert_array_equal(wrong.scaling.slope, 0)
    assert_allclose(wrong.scaling.margins(10 - 20 * Y), 0, atol=0.04)


@pytest.mark.parametrize("margin", [-1.0, 0.0, 3.0])
def test_equal_margins(margin):
    """The curvature is singular: a minimiser must end, and the frequency is right."""
    Y = np.array([[1.0, 1.0, 0.0, 1.0]])
    margins = np.full(Y.shape, margin)
    a, b = fit_platt(margins, Y, np.ones(1), np.ones(Y.shape, bool))
    assert expit(a * margin + b) == pytest.approx((3 * 4 / 5 + 1 / 3) / 4, abs=1e-6)


@pytest.mark.parametrize("size", [1e-6, 1e2, 1e4, 1e8])
def test_small_and_large_margins(size):
    """Newton's method ends, without a warning, and a scale of the margins makes no difference."""
    margins, Y, weight, _ = drawn(5)
    a, b = fit_platt(margins, Y, weight, np.ones(Y.shape, bool))
    found = fit_platt(size * margins, Y, weight, np.ones(Y.shape, bool))
    assert (size * found[0], found[1]) == pytest.approx((a, b), rel=1e-4)


def test_sums_of_the_kernel():
    random = np.random.default_rng(6)
    z, weight = random.normal(0, 3, 50), random.random(50)
    loss, gradient, curvature = log_loss_sums(z, weight, 0.7, -0.2)
    p = expit(0.7 * z - 0.2)
    assert loss == pytest.approx(-weight @ np.log(1 - p), rel=1e-12)
    assert gradient == pytest.approx((weight @ (p * z), weight @ p), rel=1e-12)
    h = weight * p * (1 - p)
    assert curvature == pytest.approx((h @ z**2, h @ z, h.sum()), rel=1e-12)
    # Also for margins whose exponential overflows.
    assert log_loss_sums(np.array([800.0, -800.0]), np.ones(2), 1, 0)[0] == 800


NAN = np.nan


def drawn_labels(seed=0):
    random = np.random.default_rng(seed)
    margins = random.normal(size=(120, 3))
    Y = (random.normal(size=margins.shape) < 2 * margins - 0.5).astype(float)
    return margins, Y.astype(np.float32), np.arange(120) % 4


def test_labels_that_vary_are_calibrated_as_if_alone():
    margins, Y, folds = drawn_labels()
    alone = calibrate(margins, Y, np.ones(120), folds)
    with_constant = np.insert(Y, 1, 1.0, axis=1)
    data = FitData(np.insert(margins, 1, -5.0, axis=1), with_constant, None)
    found = calibrate_labels(data, folds)
    varied = [0, 2, 3]
    assert_array_equal(found.margins[:, varied], alone.margins)
    assert_array_equal(found.scaling.slope[varied], alone.scaling.slope)
    assert_allclose(
        found.scaling.proba(np.insert(margins, 1, 3.0, axis=1))[:, varied],
        expit(alone.scaling.margins(margins)),
    )
    assert_allclose(expit(found.margins[:, 1]), 121 / 122)
    assert_array_equal(found.scaling.margins(np.zeros((1, 4)))[:, 1], found.margins[:1, 1])
    settled = found.scaling.constant.in_labels(np.zeros((2, 4), dtype=np.int64))
    assert_array_equal(settled, [[0, 1, 0, 0]] * 2)


def test_only_what_counts_makes_a_label_vary():
    Y = np.array([[1, NAN, NAN, 0], [1, 1, NAN, 1], [0, 0, NAN, 0]], np.float32)
    found = LabelCalibration.without_scaling(FitData(None, Y, np.array([1.0, 2.0, 0.0])))
    assert_array_equal(found.constant.value, [1, 1, 0, NAN])
    assert_allclose(found.constant.proba, [3 / 4, 2 / 3, 1 / 2, NAN])
    assert_array_equal(found.constant.varied, [False, False, False, True])
    assert_allclose(found.proba(np.zeros((1, 4))), [[3 / 4, 2 / 3, 1 / 2, 1 / 2]])


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_nothing_varies(value):
    data = FitData(np.ones((6, 2)), np.full((6, 2), value), None)
    found = calibrate_labels(data, np.arange(6) % 2)
    assert_allclose(expit(found.margins), 7 / 8 if value else 1 / 8)
