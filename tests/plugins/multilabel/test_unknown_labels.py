"""A label that is NaN is unknown: what does not support it rejects it, however a model is made."""

import numpy as np
import pytest
import xgboost as xgb
from sklearn.metrics import average_precision_score, roc_auc_score

PARAMS = {"objective": "multilabel:logistic", "max_depth": 3}
REFUSED = "Label contains NaN, infinity or a value too large. The objective `{}` does not support"

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 6))
FULL = (X[:, :3] + 0.5 * RNG.normal(size=(300, 3)) > 0.4).astype(float)
Y = np.where(RNG.random(FULL.shape) < 0.3, np.nan, FULL)


def squared_error(predictions, matrix):
    """A custom objective that knows nothing of unknown labels."""
    labels = matrix.get_label().reshape(predictions.shape)
    return predictions - labels, np.ones_like(predictions)


def masked_squared_error(predictions, matrix):
    """A custom objective that gives unknown labels no gradient."""
    labels = matrix.get_label().reshape(predictions.shape)
    known = ~np.isnan(labels)
    return np.where(known, predictions - labels, 0), known.astype(float)


def refuses(objective):
    return pytest.raises(xgb.core.XGBoostError, match=REFUSED.format(objective))


def test_training():
    with refuses("binary:logistic"):
        xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, Y), 1)


def test_evaluation():
    params, evals = {"objective": "reg:squarederror"}, [(xgb.DMatrix(X, Y), "test")]
    with refuses("reg:squarederror"):
        xgb.train(params, xgb.DMatrix(X, FULL), 1, evals=evals)


@pytest.mark.parametrize("params", [{}, PARAMS])
def test_custom_objective(params):
    with refuses("custom"):
        xgb.train(params, xgb.DMatrix(X, Y), 1, obj=squared_error)


def test_custom_objective_of_an_estimator():
    model = xgb.XGBRegressor(n_estimators=1, objective=lambda y, p: (p - y, np.ones_like(p)))
    with refuses("custom"):
        model.fit(X, Y[:, 0])


def test_gradients_given_to_boost():
    matrix = xgb.DMatrix(X, Y)
    booster = xgb.Booster({"num_target": 3}, [matrix])
    with refuses("custom"):
        booster.boost(matrix, iteration=0, grad=np.ones(Y.shape), hess=np.ones(Y.shape))


def test_custom_objective_in_evaluation():
    evals = [(xgb.DMatrix(X, Y), "test")]
    with refuses("custom"):
        xgb.train({}, xgb.DMatrix(X, FULL), 1, obj=squared_error, evals=evals)


def test_custom_objective_that_takes_them():
    params = {"allow_unknown_labels": True, "max_depth": 3, "base_score": 0.5}
    results = {}
    matrix = xgb.DMatrix(X, Y)
    booster = xgb.train(
        params,
        matrix,
        5,
        obj=masked_squared_error,
        evals=[(matrix, "train")],
        evals_result=results,
        verbose_eval=False,
    )
    # A booster for each label, on the rows where it is known, is the reference implementation.
    predicted = booster.predict(matrix)
    for j, label in enumerate(Y.T):
        known = ~np.isnan(label)
        alone = xgb.train(
            {"max_depth": 3, "base_score": 0.5, "max_bin": 512},
            xgb.DMatrix(X[known], label[known]),
            5,
        )
        assert np.corrcoef(alone.predict(xgb.DMatrix(X)), predicted[:, j])[0, 1] > 0.95
    error = np.sqrt(np.nanmean((predicted - Y) ** 2))
    assert results["train"]["rmse"][-1] == pytest.approx(error, rel=1e-5)


def test_the_parameter_is_for_sums_over_targets():
    params = {"objective": "binary:hinge", "allow_unknown_labels": True}
    with refuses("binary:hinge"):
        xgb.train(params, xgb.DMatrix(X, Y), 1)


def test_prediction_before_training():
    known, unknown = xgb.DMatrix(X, FULL), xgb.DMatrix(X, Y)
    booster = xgb.train({"objective": "binary:logistic"}, known, 1)
    booster.predict(unknown)  # has a version in the prediction cache from now on
    with refuses("binary:logistic"):
        booster.update(unknown, 1)


def test_prediction_before_evaluation():
    known, unknown = xgb.DMatrix(X, FULL), xgb.DMatrix(X, Y)
    booster = xgb.train({"objective": "binary:logistic", "eval_metric": "auc"}, known, 1)
    booster.predict(unknown)
    with refuses("binary:logistic"):
        booster.eval(unknown)


def test_labels_set_after_a_round():
    matrix = xgb.DMatrix(X, FULL)
    booster = xgb.train({"objective": "binary:logistic"}, matrix, 1)
    matrix.set_label(Y)
    with refuses("binary:logistic"):
        booster.update(matrix, 1)
    with refuses("binary:logistic"):
        booster.eval(matrix)
    matrix.set_label(FULL)
    booster.update(matrix, 1)


def test_cross_validation():
    with refuses("binary:logistic"):
        xgb.cv({"objective": "binary:logistic"}, xgb.DMatrix(X, Y), 2)


def test_a_slice_knows_its_own_labels():
    labels = FULL[:, 0].copy()
    labels[0] = np.nan
    matrix = xgb.DMatrix(X, labels)
    xgb.train({"objective": "binary:logistic"}, matrix.slice(np.arange(1, 300)), 1)
    with refuses("binary:logistic"):
        xgb.train({"objective": "binary:logistic"}, matrix.slice(np.arange(10)), 1)


@pytest.mark.parametrize(
    "model",
    [
        xgb.XGBRegressor(n_estimators=1),
        xgb.XGBClassifier(n_estimators=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators_of_xgboost(model):
    with pytest.raises(ValueError, match=r"NaN|Invalid classes"):
        model.fit(X, Y[:, 0])


def test_ranking():
    with refuses("rank:ndcg"):
        xgb.XGBRanker(n_estimators=1).fit(X, Y[:, 0], qid=np.repeat(np.arange(30), 10))


def test_quantile_matrix():
    with refuses("binary:logistic"):
        xgb.train({"objective": "binary:logistic"}, xgb.QuantileDMatrix(X, Y), 1)


@pytest.mark.parametrize("first", [0, 299])
def test_external_memory(in_batches, first):
    labels = FULL.copy()
    labels[first, 1] = np.nan  # in the first part or in the last
    matrix = xgb.ExtMemQuantileDMatrix(in_batches(X, labels))
    with refuses("binary:logistic"):
        xgb.train({"objective": "binary:logistic"}, matrix, 1)


def test_binary_file(tmp_path):
    xgb.DMatrix(X, Y).save_binary(tmp_path / "matrix")
    with refuses("binary:logistic"):
        xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(tmp_path / "matrix"), 1)


def test_text_file(tmp_path):
    (tmp_path / "rows.csv").write_text("0,1\n1,2\nnan,3\n")
    with xgb.config_context(verbosity=0):  # such files are deprecated
        matrix = xgb.DMatrix(f"{tmp_path}/rows.csv?format=csv&label_column=0")
    with refuses("reg:squarederror"):
        xgb.train({}, matrix, 1)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_labels_are_refused_in_upstreams_words(value):
    labels = FULL.copy()
    labels[3, 1] = value
    message = "Label contains NaN, infinity or a value too large."
    with pytest.raises(xgb.core.XGBoostError, match=message):
        xgb.DMatrix(X, labels)


def evaluate(metric, labels, weight=None, params=PARAMS):
    """Train on known labels, and return predictions and the metric with the given labels."""
    booster = xgb.train(
        params | {"eval_metric": metric}, xgb.DMatrix(X, FULL[:, : labels.shape[1]]), 3
    )
    matrix = xgb.DMatrix(X, labels, weight=weight)
    return booster.predict(matrix), float(booster.eval(matrix).rpartition(":")[2])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_labels", [1, 3])
def test_auc_is_the_mean_over_labels_of_known_entries(n_labels, weighted):
    labels = Y[:, :n_labels]
    weight = RNG.integers(1, 4, len(X)) if weighted else None
    predicted, value = evaluate("auc", labels, weight)
    predicted, expected = predicted.reshape(labels.shape), []
    for p, y in zip(predicted.T, labels.T, strict=True):
        known = ~np.isnan(y)
        weight_known = weight[known] if weighted else None
        expected.append(roc_auc_score(y[known], p[known], sample_weight=weight_known))
    assert value == pytest.approx(np.mean(expected), abs=1e-6)


def test_area_under_precision_and_recall():
    predicted, value = evaluate("aucpr", Y)
    known = [evaluate_known(p, y) for p, y in zip(predicted.T, Y.T, strict=True)]
    assert value == pytest.approx(np.mean(known), abs=1e-6)
    step = [
        average_precision_score(y[~np.isnan(y)], p[~np.isnan(y)])
        for p, y in zip(predicted.T, Y.T, strict=True)
    ]
    assert value == pytest.approx(np.mean(step), abs=0.05)  # steps instead of interpolation


def evaluate_known(p, y):
    """XGBoost's own aucpr of one label, on the rows where it is known."""
    known = ~np.isnan(y)
    matrix = xgb.DMatrix(np.zeros((known.sum(), 1)), y[known], base_margin=p[known])
    booster = xgb.Booster({"eval_metric": "aucpr", "base_score": 0}, [matrix])
    booster.boost(matrix, iteration=0, grad=np.zeros(known.sum()), hess=np.ones(known.sum()))
    return float(booster.eval(matrix).rpartition(":")[2])


@pytest.mark.parametrize("metric", ["ndcg", "map", "pre", "mphe", "quantile"])
def test_metrics_that_cannot_leave_them_out(metric):
    params = PARAMS | ({"quantile_alpha": 0.5} if metric == "quantile" else {})
    with pytest.raises(xgb.core.XGBoostError, match=f"`{metric}` does not support unknown"):
        evaluate(metric, Y, params=params)


def test_early_stopping_by_a_metric_that_is_always_nan():
    constant = np.column_stack([FULL[:, :2], np.ones(len(X))])  # no area under a curve
    with pytest.raises(ValueError, match="The metric `test-auc` was nan in every round"):
        xgb.train(
            PARAMS | {"eval_metric": "auc", "verbosity": 0},
            xgb.DMatrix(X, FULL),
            10,
            evals=[(xgb.DMatrix(X, constant), "test")],
            early_stopping_rounds=3,
            verbose_eval=False,
        )


def test_early_stopping_follows_auc_of_known_entries():
    booster = xgb.train(
        PARAMS | {"eval_metric": "auc"},
        xgb.DMatrix(X[:200], Y[:200]),
        50,
        evals=[(xgb.DMatrix(X[200:], Y[200:]), "test")],
        early_stopping_rounds=5,
        verbose_eval=False,
    )
    assert booster.best_iteration > 0
    assert 0.5 < booster.best_score < 1
