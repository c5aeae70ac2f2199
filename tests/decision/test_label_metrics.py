"""Scores on draws of rows against the metrics on repeated rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import fbeta_score

from xdcc import metrics
from xdcc.base.fit_data import FitData
from xdcc.decision.bbc_cv import DrawnChoices, draw_choices
from xdcc.decision.label_metrics import (
    COUNTED,
    checked_metric,
    metric_named,
    scores_on_draws,
    try_callable,
    validation_data,
)


def drawn(seed):
    random = np.random.default_rng(seed)
    Y = random.integers(0, 2, size=(9, 3)).astype(float)
    Y[random.random(Y.shape) < 0.2] = np.nan
    Y[0] = [1, 0, 1]
    Y[:, 0] = np.where(np.isnan(Y).all(axis=1), 1, Y[:, 0])
    predictions = [random.integers(0, 2, size=Y.shape).astype(np.int8) for _ in range(3)]
    counts = random.integers(0, 3, size=(4, len(Y))).astype(float)
    counts[:, 0] = 1
    return Y, predictions, counts, random.integers(1, 4, len(Y)).astype(np.float32)


@given(st.integers(0, 2**32 - 1), st.sampled_from([*COUNTED, metrics.example_f1]), st.booleans())
@settings(max_examples=80, deadline=None)
def test_the_measure_of_repeated_rows(seed, measure, weighted):
    Y, predictions, counts, weight = drawn(seed)
    data = validation_data(Y, np.full(Y.shape, 0.5), weight if weighted else None)
    found = scores_on_draws(measure, data, predictions)(counts)
    function = getattr(metrics, measure) if isinstance(measure, str) else measure
    for draw, count in enumerate(counts.astype(int)):
        rows = np.repeat(np.arange(len(Y)), count)
        options = {"sample_weight": weight[rows]} if weighted else {}
        for i, labels in enumerate(predictions):
            assert found[draw, i] == pytest.approx(function(Y[rows], labels[rows], **options))


@pytest.mark.parametrize("measure", ["example_f1", "micro_f1", "macro_f1", metrics.jaccard])
def test_a_draw_without_rows_has_no_score(measure):
    Y, predictions, counts, _ = drawn(0)
    counts[1] = 0
    data = validation_data(Y, np.full(Y.shape, 0.5), None)
    found = scores_on_draws(measure, data, predictions)(counts)
    assert np.isnan(found[1]).all()
    assert np.isfinite(np.delete(found, 1, axis=0)).all()


def test_f_beta_is_scikit_learns():
    Y, predictions, _, _ = drawn(3)
    Y = np.nan_to_num(Y)
    data = validation_data(Y, np.full(Y.shape, 0.5), None)
    for name, beta in [("example_f2", 2), ("example_f0.5", 0.5), ("example_f1.0", 1)]:
        found = scores_on_draws(name, data, predictions)(np.ones((1, len(Y))))
        expected = [
            fbeta_score(Y, labels, beta=beta, average="samples", zero_division=1)
            for labels in predictions
        ]
        assert_allclose(found[0], expected)


@pytest.mark.parametrize("name", ["f1", "example_f", "example_f-1", "example_fbeta", 3])
def test_unknown_names(name):
    with pytest.raises(ValueError, match=r"measure=.*'example_f2' for beta = 2"):
        metric_named(name)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("high", TypeError, "returned 'high', which is not a number"),
        (None, TypeError, "returned None, which is not a number"),
        (np.ones(2), TypeError, "which is not a number"),
        (True, TypeError, "returned True, which is not a number"),
        (np.nan, ValueError, "returned nan; it must be finite"),
        (np.float32(np.inf), ValueError, "returned inf; it must be finite"),
    ],
)
def test_measures_return_numbers(value, error, message):
    with pytest.raises(error, match=message):
        checked_metric(lambda truth, predicted: value)([[1]], [[1]])
    assert checked_metric(lambda truth, predicted: np.float32(0.5))([[1]], [[1]]) == 0.5


@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.0, 2.0])], ids=["", "weighted"])
def test_a_callable_is_tried_on_labels_that_count(weight):
    seen = []
    Y = np.array([[1, np.nan], [0, 0], [0, 1]], np.float32)

    def measure(truth, predicted, **options):
        seen.append((truth, predicted, options))
        return 0.5

    try_callable(measure, FitData(None, Y, weight))
    ((truth, predicted, options),) = seen
    rows = [0, 1, 2] if weight is None else [0, 2]
    assert_array_equal(truth, Y[rows])
    assert_array_equal(predicted, [[0, 1], [1, 0], [0, 0]] if weight is None else [[0, 1], [1, 0]])
    assert predicted.dtype == np.int64
    assert options.keys() == (set() if weight is None else {"sample_weight"})


def test_draws_choose_on_drawn_rows_and_judge_on_the_others():
    choices = DrawnChoices(
        np.array([[0.1, 0.9, 0.5], [0.8, 0.3, 0.8]]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    )
    assert_allclose(choices.estimate(np.arange(3)), [2, 4])
    assert_allclose(choices.estimate(np.array([0, 2])), [3, 4])
    rows = np.arange(6.0)

    def scores(counts):
        # Draws without row 0 have no score.
        sums = np.where(counts[:, 0] > 0, counts @ rows, np.nan)
        return np.column_stack((sums, -sums))

    found = draw_choices(scores, 6, n_bootstraps=500, random_state=0)
    # Row 0 is either drawn or left out, never both.
    assert found.drawn.shape == (0, 2)
    found = draw_choices(lambda counts: counts[:, :2], 6, n_bootstraps=50, random_state=0)
    assert found.drawn.shape == found.left_out.shape == (50, 2)
    assert ((found.drawn > 0) != (found.left_out > 0)).all()
