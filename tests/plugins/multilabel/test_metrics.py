"""The native metrics equal those of `xdcc.metrics`."""

import numpy as np
import pytest
import xgboost as xgb
from sklearn.metrics import f1_score

from xdcc import metrics

NAMES = ["hamming_loss", "subset_loss", "example_f1", "micro_f1", "macro_f1"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    Y = (X[:, :4] + 0.5 * rng.normal(size=(3000, 4)) > 0.8).astype(float)
    Y = np.column_stack([Y, np.zeros(len(Y))])  # never true: macro F1's zero division
    return X, Y


def evaluate(X, Y, names, weight=None):
    matrix, results = xgb.DMatrix(X, Y, weight=weight), {}
    booster = xgb.train(
        {"objective": "multilabel:logistic", "eval_metric": names},
        matrix,
        5,
        evals=[(matrix, "train")],
        evals_result=results,
        verbose_eval=False,
    )
    return booster.predict(matrix), {k: v[-1] for k, v in results["train"].items()}


def test_equal_to_the_python_metrics(data):
    X, Y = data
    predicted, values = evaluate(X, Y, NAMES)
    for name in NAMES:
        expected = getattr(metrics, name)(Y, predicted >= 0.5)
        assert 0 < expected < 1
        assert values[name] == pytest.approx(expected, abs=1e-6), name


def test_unknown_labels(data):
    X, Y = data
    Y = Y.copy()
    Y[np.random.default_rng(1).random(Y.shape) < 0.4] = np.nan
    Y[:20] = np.nan
    predicted, values = evaluate(X, Y, NAMES)
    for name in NAMES:
        expected = getattr(metrics, name)(Y, predicted >= 0.5)
        assert values[name] == pytest.approx(expected, abs=1e-6), name


def test_weights_count_rows(data):
    X, Y = data
    X, Y = X[:200], Y[:200]
    times = np.random.default_rng(2).integers(0, 4, len(X))
    predicted, values = evaluate(X, Y, NAMES, weight=times)
    repeated = predicted.repeat(times, axis=0) >= 0.5
    for name in NAMES:
        expected = getattr(metrics, name)(Y.repeat(times, axis=0), repeated)
        assert values[name] == pytest.approx(expected, abs=1e-6), name


def test_threshold_behind_the_name(data):
    X, Y = data
    predicted, values = evaluate(X, Y, ["hamming_loss@0.3", "macro_f1@0.3"])
    assert values["hamming_loss@0.3"] == pytest.approx(np.mean((predicted >= 0.3) != Y), abs=1e-6)
    assert values["macro_f1@0.3"] == pytest.approx(
        f1_score(Y, predicted >= 0.3, average="macro", zero_division=0), abs=1e-6
    )
    with pytest.raises(xgb.core.XGBoostError, match=r"needs a threshold in \[0, 1\]"):
        evaluate(X, Y, ["hamming_loss@2"])


def test_exactly_one_half_is_positive():
    X, Y = np.zeros((4, 1)), np.ones((4, 2))
    matrix, results = xgb.DMatrix(X, Y), {}
    xgb.train(
        {
            "objective": "multilabel:logistic",
            "eval_metric": "hamming_loss",
            "base_score": 0.5,
            "eta": 0,
        },
        matrix,
        1,
        evals=[(matrix, "train")],
        evals_result=results,
        verbose_eval=False,
    )
    assert results["train"]["hamming_loss"] == [0.0]


@pytest.mark.usefixtures("threads")
def test_same_value_for_any_number_of_threads(data):
    X, Y = data
    values = set()
    for n in (1, 3):
        matrix, results = xgb.DMatrix(X, Y), {}
        xgb.train(
            {"objective": "multilabel:logistic", "eval_metric": NAMES, "nthread": n},
            matrix,
            2,
            evals=[(matrix, "train")],
            evals_result=results,
            verbose_eval=False,
        )
        values.add(str(results))
    assert len(values) == 1
