"""Weights of entries: a matrix as the field `weight` of a DMatrix."""

import hypothesis.strategies as st
import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

from tests.reference.boosting import gradients

N_ROWS, N_FEATURES, N_LABELS = 300, 6, 5
PARAMS = {
    "objective": "multilabel:logistic",
    "max_depth": 4,
    "learning_rate": 0.3,
    "nthread": 1,
}
SEARCHES = [{}, {"sketch_size": 1}, {"sketch_size": 2, "labels_per_tree": 3}]
OTHERS = [{}, {"scale_pos_weight": 3.0, "label_weight": [1, 2, 0.5, 1, 3]}, {"subsample": 0.7}]

rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(N_ROWS, N_FEATURES)), 1).astype(np.float32)  # fewer values than bins
NOISY = X @ rng.normal(size=(N_FEATURES, N_LABELS)) + rng.normal(size=(N_ROWS, N_LABELS))
Y = (NOISY > 0).astype(np.float32)
Y[rng.random(Y.shape) < 0.1] = np.nan
W = rng.choice([0, 1, 2, 3], size=Y.shape).astype(np.float32)


def matrix(weight=None, *, labels=Y, features=X):
    return xgb.DMatrix(features, labels, weight=weight)


def train(data, params=None, n_rounds=4):
    return xgb.train(PARAMS | (params or {}), data, n_rounds)


def trees(booster):
    return booster.get_dump(dump_format="json")


def margins(booster, features=X):
    return booster.predict(xgb.DMatrix(features), output_margin=True)


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("params", SEARCHES)
def test_equal_columns_are_weights_of_rows(params, others):
    """Models are equal bit for bit, also where the bins depend on the weights."""
    of_rows = np.linspace(0, 2, N_ROWS)
    features = rng.normal(size=X.shape)
    found, expected = (
        train(matrix(weight, features=features), params | others | {"max_bin": 16})
        for weight in (np.tile(of_rows[:, np.newaxis], (1, N_LABELS)), of_rows)
    )
    assert trees(found) == trees(expected)


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("params", SEARCHES)
def test_an_entry_of_weight_0_is_unknown(params, others):
    is_known = W > 0
    is_known[~is_known.any(axis=1)] = True
    found = train(matrix(is_known.astype(float)), params | others)
    expected = train(matrix(labels=np.where(is_known, Y, np.nan)), params | others)
    assert trees(found) == trees(expected)


@pytest.mark.parametrize("others", OTHERS[:2])
@pytest.mark.parametrize("params", [*SEARCHES, {"soft_labels": True}])
def test_whole_weights_are_repeated_entries(params, others):
    rows, times = np.nonzero(W.max(axis=1, keepdims=True) > np.arange(3))
    repeated = np.where(W[rows] > times[:, np.newaxis], Y[rows], np.nan)
    found = train(matrix(W), params | others)
    expected = train(matrix(labels=repeated, features=X[rows]), params | others)
    np.testing.assert_allclose(margins(found), margins(expected), atol=2e-4)


@pytest.mark.parametrize("params", SEARCHES)
def test_weights_that_are_constant_within_columns_are_those_of_labels(params):
    of_labels = [1, 2, 0.5, 4, 3]
    found = train(matrix(np.tile(of_labels, (N_ROWS, 1))), params)
    expected = train(matrix(), params | {"label_weight": of_labels})
    np.testing.assert_allclose(margins(found), margins(expected), atol=1e-6)


@settings(deadline=None, max_examples=30)
@given(
    weight=arrays(np.float32, (12, 3), elements=st.sampled_from([0, 0.25, 1, 1.5, 7])),
    labels=arrays(np.float32, (12, 3), elements=st.sampled_from([0, 1, np.nan])),
    sketch_size=st.sampled_from([0, 1]),
)
def test_leaves_follow_from_weighted_gradients(weight, labels, sketch_size):
    """One leaf: the Newton step of the reference implementation's gradients."""
    data = matrix(weight, labels=labels, features=X[:12])
    params = {"max_depth": 1, "gamma": 1e9, "base_score": 0.5, "sketch_size": sketch_size}
    grad, hess = (each.sum(axis=0) for each in gradients(labels, np.zeros(labels.shape), weight))
    expected = -0.3 * grad / (hess + 1)
    found = margins(train(data, params, n_rounds=1), X[:1])[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_start_is_the_weighted_share_of_positives():
    booster = train(matrix(W), {"learning_rate": 1e-9}, n_rounds=1)
    weight = np.where(np.isnan(Y), 0, W)
    share = (weight * np.nan_to_num(Y)).sum(axis=0) / weight.sum(axis=0)
    np.testing.assert_allclose(1 / (1 + np.exp(-margins(booster)[0])), share, rtol=1e-5)


@pytest.mark.parametrize("params", SEARCHES)
def test_slices_and_files_keep_them(params, tmp_path):
    rows = np.arange(0, N_ROWS, 2)
    expected = trees(train(matrix(W[rows], labels=Y[rows], features=X[rows]), params))
    assert trees(train(matrix(W).slice(rows), params)) == expected
    matrix(W[rows], labels=Y[rows], features=X[rows]).save_binary(tmp_path / "matrix.buffer")
    assert trees(train(xgb.DMatrix(tmp_path / "matrix.buffer"), params)) == expected


class Batches(xgb.DataIter):
    """The rows in three batches."""

    def __init__(self, **options):
        self._number = 0
        super().__init__(**options)

    def next(self, input_data):
        if self._number == 3:
            return False
        rows = slice(100 * self._number, 100 * (self._number + 1))
        input_data(data=X[rows], label=Y[rows], weight=W[rows])
        self._number += 1
        return True

    def reset(self):
        self._number = 0


@pytest.mark.parametrize("params", SEARCHES)
def test_external_memory(params, tmp_path):
    expected = trees(train(xgb.QuantileDMatrix(X, Y, weight=W), params))
    on_disk = xgb.ExtMemQuantileDMatrix(Batches(cache_prefix=str(tmp_path / "cache")))
    assert trees(train(on_disk, params)) == expected
    assert trees(train(xgb.QuantileDMatrix(Batches()), params)) == expected


def test_weights_can_be_set_again():
    data = matrix(W)
    data.set_weight(np.ones(N_ROWS))
    assert trees(train(data)) == trees(train(matrix(np.ones(N_ROWS))))
    data.set_weight(W)
    assert trees(train(data)) == trees(train(matrix(W)))
    np.testing.assert_array_equal(data.get_weight(), W.max(axis=1))


def by_hand(metric, predicted):
    """Compute a metric with weights of entries."""
    weight = np.where(np.isnan(Y), 0, W).astype(float)
    of_rows = weight.max(axis=1)
    true = np.nan_to_num(Y)
    wrong = weight * (true != predicted)
    both, size = weight * true * predicted, weight * (true + predicted)
    if metric == "hamming_loss":
        return wrong.sum() / weight.sum()
    if metric == "subset_loss":
        return of_rows @ (wrong > 0).any(axis=1) / of_rows.sum()
    if metric == "example_f1":
        total = size.sum(axis=1)
        f1 = np.where(total == 0, 1, 2 * both.sum(axis=1) / np.where(total == 0, 1, total))
        return of_rows @ f1 / of_rows.sum()
    if metric == "micro_f1":
        return 2 * both.sum() / size.sum()
    return np.mean(2 * both.sum(axis=0) / size.sum(axis=0))


@pytest.mark.parametrize(
    "metric", ["hamming_loss", "subset_loss", "example_f1", "micro_f1", "macro_f1"]
)
def test_metrics_of_labels(metric):
    found, data = {}, matrix(W)
    booster = xgb.train(
        PARAMS | {"eval_metric": metric},
        data,
        2,
        evals=[(data, "train")],
        evals_result=found,
        verbose_eval=False,
    )
    predicted = booster.predict(matrix()) >= 0.5
    assert found["train"][metric][-1] == pytest.approx(by_hand(metric, predicted), rel=1e-6)


@pytest.mark.parametrize("metric", ["logloss", "rmse", "error"])
def test_elementwise_metrics(metric):
    found, data = {}, matrix(W)
    params = PARAMS | {"eval_metric": metric}
    booster = xgb.train(
        params, data, 2, evals=[(data, "train")], evals_result=found, verbose_eval=False
    )
    p = booster.predict(data).astype(float)
    loss = {
        "logloss": -np.log(np.where(Y == 1, p, 1 - p)),
        "rmse": (p - Y) ** 2,
        "error": (p > 0.5) != Y,
    }[metric]
    weight = np.where(np.isnan(Y), 0, W)
    mean = np.sum(weight * np.nan_to_num(loss)) / weight.sum()
    expected = np.sqrt(mean) if metric == "rmse" else mean
    assert found["train"][metric][-1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("auc", "AUC and AUCPR do not support weights of entries"),
        ("merror", "`merror` does not support unknown .NaN. labels or weights of entries"),
    ],
)
def test_other_metrics_refuse_them(metric, message):
    data = matrix(W)
    with pytest.raises(xgb.core.XGBoostError, match=message):
        xgb.train(PARAMS | {"eval_metric": metric}, data, 1, evals=[(data, "train")])


@pytest.mark.parametrize("objective", ["binary:logistic", "reg:squarederror"])
def test_other_objectives_refuse_them(objective):
    data = matrix(W, labels=np.nan_to_num(Y))
    with pytest.raises(
        xgb.core.XGBoostError, match=f"`{objective}` takes a weight for each row. `multilabel:"
    ):
        xgb.train({"objective": objective}, data, 1)
    equal = matrix(np.tile(W[:, :1], (1, N_LABELS)), labels=np.nan_to_num(Y))
    xgb.train({"objective": objective}, equal, 1)


def test_custom_objectives_refuse_them():
    def loss(predicted, data):
        return np.zeros(Y.shape), np.ones(Y.shape)

    with pytest.raises(xgb.core.XGBoostError, match="the objective `custom` takes a weight for"):
        xgb.train({"allow_unknown_labels": True, "base_score": 0.5}, matrix(W), 1, obj=loss)


@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan])
def test_no_weight(value):
    bad = W.copy()
    bad[7, 1] = value
    with pytest.raises(xgb.core.XGBoostError, match=r"finite and not negative; row 7, label 1 is"):
        matrix(bad)


def test_a_matrix_is_not_for_one_label():
    """Equal columns would be weights of rows; scikit-learn's checks expect an error, too."""
    with pytest.raises(
        ValueError, match=rf"have 600 values, but the labels have shape {N_ROWS} x 1"
    ):
        xgb.XGBRegressor(n_estimators=1).fit(X, X[:, 0], sample_weight=np.ones((N_ROWS, 2)))


def test_other_shapes():
    with pytest.raises(
        xgb.core.XGBoostError, match=rf"have 900 values, but the labels have shape {N_ROWS} x 5"
    ):
        train(matrix(W[:, :3]))
    with pytest.raises(xgb.core.XGBoostError, match="have 600 values, but the labels have shape"):
        train(matrix(W[:, [1, 1]]))  # although a vector could replace it
    with pytest.raises(xgb.core.XGBoostError, match="Size of weights must equal"):
        train(matrix(W[:7]))
    with pytest.raises(ValueError, match="Invalid shape"):
        matrix(W[..., np.newaxis])


@pytest.mark.parametrize("weight", [W[:, :3], W[:, [1, 1, 1]]], ids=["columns", "equal columns"])
def test_labels_of_another_shape_that_are_set_later(weight):
    data = matrix(weight, labels=None)
    data.set_label(Y)
    with pytest.raises(
        xgb.core.XGBoostError, match=rf"have 900 values, but the labels have shape {N_ROWS} x 5"
    ):
        train(data)
