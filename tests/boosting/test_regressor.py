"""``MultiTargetXGBRegressor``: its trees, units of targets, forms of Y, and what it refuses."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from xdcc.boosting import MultiTargetXGBRegressor
from xdcc.boosting.regressor import OBJECTIVES
from xdcc.serving import stock_booster

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 8))
Y = X[:, :4] + X[:, 2:6] ** 2 / 2 + RNG.normal(size=(400, 4)) / 4
FEW = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1}


def of_objective(objective):
    """Targets in the domain of an objective."""
    return {
        "reg:logistic": 1 / (1 + np.exp(-Y)),
        "reg:gamma": np.exp(Y / 4),
        "reg:squaredlogerror": np.exp(Y / 4),
        "reg:tweedie": np.maximum(Y, 0),
        "count:poisson": np.maximum(Y, 0).round(),
    }.get(objective, Y)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_trees_are_those_of_stock(objective):
    """Without sketches and scales."""
    params = FEW | {"objective": objective, "sketch_size": 0, "scale_targets": False}
    model = MultiTargetXGBRegressor(**params).fit(X, of_objective(objective))
    stock = xgb.train(
        {
            "objective": objective,
            "multi_strategy": "multi_output_tree",
            "max_depth": 4,
            "huber_slope": 1.0,
            "tweedie_variance_power": 1.5,
            "nthread": 1,
            "verbosity": 0,
        },
        xgb.DMatrix(X, of_objective(objective)),
        8,
    )
    expected = stock.predict(xgb.DMatrix(X))
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("sketch_size", ["auto", 0, 2])
def test_every_objective_learns(objective, sketch_size):
    target = of_objective(objective)
    model = MultiTargetXGBRegressor(objective=objective, sketch_size=sketch_size, n_jobs=1)
    model.set_params(n_estimators=60, huber_slope=2.0)
    assert model.fit(X[:300], target[:300]).score(X[300:], target[300:]) > 0.3


@pytest.mark.parametrize("sketch_size", [0, 1])
@pytest.mark.parametrize("objective", ["reg:squarederror", "reg:absoluteerror", "reg:gamma"])
def test_units_do_not_matter(objective, sketch_size):
    units = np.array([1e6, 1.0, 1e-6, 37.0])
    target = of_objective(objective)
    params = FEW | {"objective": objective, "sketch_size": sketch_size, "reg_alpha": 0.2}
    plain, scaled = (
        MultiTargetXGBRegressor(**params).fit(X, target * by).predict(X) / by for by in (1, units)
    )
    np.testing.assert_allclose(scaled, plain, rtol=1e-3, atol=1e-4)
    if objective != "reg:gamma":  # whose gradients have no units
        model = MultiTargetXGBRegressor(scale_targets=False, **params).fit(X, target * units)
        scores = r2_score(target * units, model.predict(X), multioutput="raw_values")
        with_scales = r2_score(target, scaled, multioutput="raw_values")
        assert with_scales.min() > scores.min() + 0.1


def test_shift_does_not_matter():
    params = FEW | {"sketch_size": 0}
    plain, shifted = (
        MultiTargetXGBRegressor(**params).fit(X, Y + by).predict(X) - by for by in (0, 512)
    )
    np.testing.assert_allclose(shifted, plain, atol=1e-2)


def test_one_target():
    """A vector and a column both give the trees of a booster for this target alone."""
    column = MultiTargetXGBRegressor(**FEW).fit(X, Y[:, :1])
    vector = MultiTargetXGBRegressor(**FEW, sketch_size=3).fit(X, Y[:, 0])
    assert column.predict(X).shape == (400, 1)
    np.testing.assert_array_equal(column.predict(X)[:, 0], vector.predict(X))
    stock = xgb.XGBRegressor(n_estimators=8, max_depth=4, n_jobs=1).fit(X, Y[:, 0])
    assert vector.score(X, Y[:, 0]) == pytest.approx(stock.score(X, Y[:, 0]), abs=1e-3)
    assert (vector.sketch_size_, vector.labels_per_tree_) == (0, 0)


def test_unknown_targets():
    unknown = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
    model = MultiTargetXGBRegressor(**FEW).fit(X, unknown)
    assert model.score(X, Y) > 0.5
    known = ~np.isnan(unknown[:, 1])
    expected = r2_score(unknown[known, 1], model.predict(X)[known, 1])
    unknown[:, [0, 2, 3]] = np.nan
    assert model.score(X, unknown) == pytest.approx(expected)


def test_weights_of_rows():
    weight = RNG.integers(0, 3, len(X))
    # Distinct values are few enough that both have the same bins.
    rounded = X.round(1)
    params = FEW | {"sketch_size": 0}
    weighted = MultiTargetXGBRegressor(**params).fit(rounded, Y, weight)
    repeated = MultiTargetXGBRegressor(**params)
    repeated.fit(np.repeat(rounded, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(weighted.predict(rounded), repeated.predict(rounded), atol=2e-3)


def test_names_of_targets():
    frame = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    model = MultiTargetXGBRegressor(**FEW, early_stopping_rounds=3)
    model.fit(X, frame, eval_set=[(X, frame[["d", "c", "b", "a"]])])
    assert model.target_names_.tolist() == ["a", "b", "c", "d"]
    same = MultiTargetXGBRegressor(**FEW, early_stopping_rounds=3).fit(X, Y, eval_set=[(X, Y)])
    assert model.evals_result_ == same.evals_result_
    assert list(model.set_output(predict="pandas").predict(X).columns) == ["a", "b", "c", "d"]
    assert model.score(X, frame[["b", "a", "d", "c"]]) == model.score(X, frame)


def test_early_stopping_and_earlier_models():
    params = {"max_depth": 3, "n_jobs": 1, "sketch_size": 0}
    model = MultiTargetXGBRegressor(n_estimators=200, early_stopping_rounds=5, **params)
    model.fit(X[:300], Y[:300], eval_set=[(X[300:], Y[300:])])
    assert model.best_iteration_ < 199
    losses = model.evals_result_["validation_0"]["rmse"]
    assert min(losses) == losses[model.best_iteration_]
    whole = MultiTargetXGBRegressor(n_estimators=6, **params).fit(X, Y)
    half = MultiTargetXGBRegressor(n_estimators=3, **params).fit(X, Y)
    for earlier in (half, half.booster_):
        further = clone(half).fit(X, Y, xgb_model=earlier)
        np.testing.assert_allclose(further.predict(X), whole.predict(X), atol=1e-5)
    other = MultiTargetXGBRegressor(n_estimators=3, objective="reg:absoluteerror", **params)
    with pytest.raises(
        ValueError, match="was trained with the objective 'reg:squarederror'; it must"
    ):
        other.fit(X, Y, xgb_model=half.booster_)
    with pytest.raises(ValueError, match="8 features and 4 targets, but X has 8 features and Y 2 "):
        clone(half).fit(X, Y[:, :2], xgb_model=half.booster_)


def test_in_searches_and_pipelines():
    pipeline = make_pipeline(StandardScaler(), MultiTargetXGBRegressor(**FEW))
    search = GridSearchCV(pipeline, {"multitargetxgbregressor__reg_lambda": [1, 10]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0
    scores = cross_val_score(pipeline, X, Y, scoring="neg_mean_squared_error", cv=3)
    assert np.isfinite(scores).all()


def test_copies_predict_the_same_and_stock_xgboost_too():
    model = MultiTargetXGBRegressor(**FEW).fit(X, Y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    stock = stock_booster(model.get_booster()).predict(xgb.DMatrix(X))
    np.testing.assert_array_equal(stock, model.predict(X).astype(np.float32))


def test_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiTargetXGBRegressor(**FEW, eval_metric="mae").fit(X, Y, eval_set=[(X, Y)]).predict(X)


def test_importances():
    model = MultiTargetXGBRegressor(**FEW).fit(X, Y)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:6].min() > model.feature_importances_[6:].max()


def test_auto_divides_targets_that_share_nothing():
    rng = np.random.default_rng(1)
    many = rng.normal(size=(3000, 12))
    own = np.sign(many) + rng.normal(size=many.shape) / 4
    shared = np.sign(many[:, :1]) + rng.normal(size=many.shape) / 4
    found = [
        MultiTargetXGBRegressor(n_estimators=1, n_jobs=1).fit(many, target).labels_per_tree_
        for target in (own, shared)
    ]
    assert 0 < found[0] < 12
    assert found[1] == 0
    scaled = MultiTargetXGBRegressor(n_estimators=1, n_jobs=1).fit(many, own * 1e5)
    assert scaled.labels_per_tree_ == found[0]
    given = MultiTargetXGBRegressor(n_estimators=1, n_jobs=1, outputs_per_tree=3).fit(many, own)
    assert given.labels_per_tree_ == 3


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.where(Y > 2, np.inf, Y), r"contains infinity .* row [0-9]+ for target .*: inf\."),
        (pd.DataFrame({"a": Y[:, 0], "b": np.nan}), "every row that counts: target 'b'."),
        (np.zeros((400, 2, 2)), r"Y has shape \(400, 2, 2\); it must be \(n_samples, n_targets\)"),
        (np.zeros((400, 0)), r"Y has shape \(400, 0\)"),
        (
            np.array([["yes"]] * 400),
            "Target 'target_0' of y is 'yes' in row 0; it must be a number",
        ),
        (pd.DataFrame(Y, columns=list("abca")), "several columns named 'a'. Each target needs a"),
        (Y[:50], "inconsistent numbers of samples"),
        (None, "requires y to be passed, but the target y is None"),
    ],
)
def test_bad_targets(target, message):
    with pytest.raises(ValueError, match=message):
        MultiTargetXGBRegressor(**FEW).fit(X, target)


@pytest.mark.parametrize(
    ("objective", "bad", "words"),
    [
        ("count:poisson", -1, "at least 0"),
        ("reg:tweedie", -0.5, "at least 0"),
        ("reg:gamma", 0, "positive"),
        ("reg:logistic", 1.5, "from 0 to 1"),
        ("reg:squaredlogerror", -1, "above -1"),
    ],
)
def test_targets_outside_of_the_domain(objective, bad, words):
    """The check is XGBoost's; the message also names the target."""
    frame = pd.DataFrame(of_objective(objective), columns=list("abcd"))
    wrong = frame.copy()
    wrong.loc[7, "c"] = bad
    message = (
        f"is {float(bad)} in row 7; with the objective {objective!r} it must be {words}, or NaN"
    )
    model = MultiTargetXGBRegressor(**FEW, objective=objective)
    with pytest.raises(ValueError, match=re.escape(f"Target 'c' of y {message}")):
        model.fit(X, wrong)
    with pytest.raises(ValueError, match=re.escape(f"Target 'c' of eval_set[0] {message}")):
        model.fit(X, frame, eval_set=[(X, wrong)])
    with pytest.raises(xgb.core.XGBoostError, match="label must be"):
        xgb.train({"objective": objective, "verbosity": 0}, xgb.DMatrix(X, wrong), 1)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "rank:ndcg"}, "objective='rank:ndcg': it must be"),
        ({"objective": "multi:softprob"}, "objective='multi:softprob'"),
        ({"scale_targets": "yes"}, "scale_targets='yes'"),
        ({"huber_slope": 0}, "huber_slope=0"),
        ({"tweedie_variance_power": 2}, "tweedie_variance_power=2"),
        ({"scale_pos_weight": 2}, "Unknown booster parameter 'scale_pos_weight'"),
        ({"base_score": 0.5}, "Unknown booster parameter 'base_score'"),
        ({"outputs_per_tree": -1}, "outputs_per_tree=-1"),
        (
            {"sketch_size": "auto", "split_method": "maxGain"},
            "sketch_size='auto' with split_method",
        ),
        ({"eval_metric": "no_such"}, "eval_metric='no_such': Unknown metric function"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        MultiTargetXGBRegressor(**(FEW | params)).fit(X, Y, eval_set=[(X, Y)])


def test_other_targets_than_in_fit():
    model = MultiTargetXGBRegressor(**FEW).fit(X, pd.DataFrame(Y, columns=list("abcd")))
    with pytest.raises(ValueError, match="must be the labels 'a', 'b', 'c', 'd'"):
        model.score(X, pd.DataFrame(Y, columns=list("abce")))
    with pytest.raises(ValueError, match="Y has 2 targets, but in fit there were 4"):
        model.score(X, Y[:, :2])
