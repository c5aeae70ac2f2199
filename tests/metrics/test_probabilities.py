"""Log-loss and Brier score against scikit-learn on the known entries."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import metrics as sk

from xdcc import metrics

ORACLES = {
    "log_loss": lambda *known, **options: sk.log_loss(*known, labels=[0, 1], **options),
    "brier_score": lambda *known, **options: sk.brier_score_loss(*known, **options),
}


@pytest.mark.parametrize("name", ORACLES)
@settings(max_examples=60, deadline=None)
@given(
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=7).flatmap(
        lambda shape: st.tuples(
            hnp.arrays(np.float64, shape, elements=st.sampled_from((0, 1, np.nan))),
            hnp.arrays(np.float64, shape, elements=st.floats(0, 1)),
            hnp.arrays(np.float64, shape[0], elements=st.integers(0, 3)),
        )
    )
)
def test_agrees_with_scikit_learn(name, case):
    Y_true, Y_proba, weight = case
    known = ~np.isnan(Y_true) & (weight[:, np.newaxis] > 0)
    assume(len(np.unique(Y_true[known])) == 2)  # scikit-learn's Brier score needs both
    of_entries = np.broadcast_to(weight[:, np.newaxis], known.shape)[known]
    expected = ORACLES[name](Y_true[known], Y_proba[known], sample_weight=of_entries)
    found = getattr(metrics, name)(Y_true, Y_proba, sample_weight=weight)
    assert type(found) is float
    assert found == pytest.approx(expected)


def test_by_hand():
    Y_true, Y_proba = [[1, np.nan], [0, 1]], [[0.5, 1.0], [0.25, 1.0]]
    assert metrics.log_loss(Y_true, Y_proba) == pytest.approx(-np.log(0.5 * 0.75) / 3)
    assert metrics.brier_score(Y_true, Y_proba) == pytest.approx((0.25 + 0.0625) / 3)
    # A certain error is finite.
    assert metrics.log_loss([[1]], [[0]]) == pytest.approx(-np.log(np.finfo(float).eps))


@pytest.mark.parametrize("name", ORACLES)
def test_over_many_blocks_of_rows(name):
    Y_true, Y_proba = np.array([[1, 0], [0, 0]]), np.array([[0.8, 0.4], [0.1, 0.3]])
    metric = getattr(metrics, name)
    many = metric(np.repeat(Y_true, 2**17, axis=0), np.repeat(Y_proba, 2**17, axis=0))
    assert many == pytest.approx(metric(Y_true, Y_proba))


@pytest.mark.parametrize("container", [sparse.csr_array, pd.DataFrame, list])
@pytest.mark.parametrize("name", ORACLES)
def test_containers_give_equal_results(name, container):
    Y_true, Y_proba = np.array([[1, 0], [0, 0]]), np.array([[0.8, 0.4], [0.1, 0.3]])
    metric = getattr(metrics, name)
    assert metric(container(Y_true), container(Y_proba)) == metric(Y_true, Y_proba)


@pytest.mark.parametrize(
    ("Y_true", "Y_proba", "message"),
    [
        ([[0, 1]], [[0.1, 1.5]], r"Y_proba\[0, 1\] is 1.5, must be from 0 to 1"),
        ([[0, 1]], [[-0.1, 0.5]], r"Y_proba\[0, 0\] is -0.1, must be from 0 to 1"),
        ([[0, 1]], [[0.1, np.nan]], r"Y_proba\[0, 1\] is nan, must be from 0 to 1"),
        ([[0, 1]], [[0.1]], r"Y_true and Y_proba must have the same shape"),
        ([[0, 1]], [["a", "b"]], "Y_proba must be a matrix of numbers from 0 to 1"),
        ([[np.nan]], [[0.5]], "no known label"),
    ],
)
@pytest.mark.parametrize("name", ORACLES)
def test_invalid_input_is_rejected(name, Y_true, Y_proba, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(Y_true, Y_proba)
