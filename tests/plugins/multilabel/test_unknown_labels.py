"""A label that is NaN is unknown: it has no gradient and takes no part in the metrics."""

import numpy as np
import pytest
import xgboost as xgb

PARAMS = {"objective": "multilabel:logistic", "max_depth": 3}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    Y = (X[:, :3] + 0.5 * rng.normal(size=(300, 3)) > 0.4).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    return X, Y


def test_rows_without_a_known_label_change_nothing(data):
    X, Y = data
    more_X = np.vstack([X, X[:50]])
    more_Y = np.vstack([Y, np.full((50, 3), np.nan)])
    params = PARAMS | {"max_bin": 512}
    np.testing.assert_allclose(
        xgb.train(params, xgb.DMatrix(more_X, more_Y), 5).inplace_predict(X),
        xgb.train(params, xgb.DMatrix(X, Y), 5).inplace_predict(X),
        rtol=0,
        atol=1e-6,
    )


def test_one_label_equals_stock_on_the_rows_where_it_is_known(data):
    X, Y = data
    known = ~np.isnan(Y[:, 0])
    params = {"max_bin": 512, "max_depth": 3}
    ours = xgb.train(params | PARAMS, xgb.DMatrix(X, Y[:, :1]), 5)
    stock = xgb.train(
        params | {"objective": "binary:logistic", "min_child_weight": 0},
        xgb.DMatrix(X[known], Y[known, 0]),
        5,
    )
    np.testing.assert_allclose(
        ours.inplace_predict(X[known]), stock.inplace_predict(X[known]), atol=1e-5
    )


def test_start_is_the_share_among_the_known(data):
    X, Y = data
    Y = np.column_stack([Y, np.full(len(Y), np.nan)])
    start = xgb.train(PARAMS | {"eta": 0}, xgb.DMatrix(X, Y), 1).inplace_predict(X[:1])[0]
    np.testing.assert_allclose(start, [*np.nanmean(Y[:, :3], axis=0), 0.5], rtol=1e-5)
    weight = np.arange(1.0, len(Y) + 1)
    matrix = xgb.DMatrix(X, Y, weight=weight)
    start = xgb.train(PARAMS | {"eta": 0}, matrix, 1).inplace_predict(X[:1])[0]
    known = ~np.isnan(Y[:, 0])
    assert start[0] == pytest.approx(np.average(Y[known, 0], weights=weight[known]), rel=1e-5)


def test_constant_labels(data):
    X, Y = data
    Y = np.column_stack([Y[:, 0], np.zeros(len(Y)), np.ones(len(Y)), np.full(len(Y), np.nan)])
    predicted = xgb.train(PARAMS, xgb.DMatrix(X, Y), 10).inplace_predict(X)
    assert (predicted[:, 1] < 1e-4).all()
    assert (predicted[:, 2] > 1 - 1e-4).all()
    np.testing.assert_allclose(predicted[:, 3], 0.5)


def test_logloss_leaves_them_out(data):
    X, Y = data
    matrix, results = xgb.DMatrix(X, Y), {}
    booster = xgb.train(
        PARAMS, matrix, 3, evals=[(matrix, "train")], evals_result=results, verbose_eval=False
    )
    p, known = booster.predict(matrix), ~np.isnan(Y)
    loss = -np.log(np.where(Y == 1, p, 1 - p))[known].mean()
    assert results["train"]["logloss"][-1] == pytest.approx(loss, rel=1e-5)


def test_other_objectives_refuse_them_at_training_and_evaluation(data):
    X, Y = data
    stock = {"objective": "reg:squarederror"}
    message = "The objective `reg:squarederror` does not support unknown"
    with pytest.raises(xgb.core.XGBoostError, match=message):
        xgb.train(stock, xgb.DMatrix(X, Y), 1)
    with pytest.raises(xgb.core.XGBoostError, match=message):
        xgb.train(stock, xgb.DMatrix(X, np.nan_to_num(Y)), 1, evals=[(xgb.DMatrix(X, Y), "test")])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_labels_are_refused(data, value):
    X, Y = data
    Y = Y.copy()
    Y[3, 1] = value
    with pytest.raises(xgb.core.XGBoostError, match="Label contains infinity"):
        xgb.DMatrix(X, Y)
