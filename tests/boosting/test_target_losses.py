"""Targets with objectives of their own: gradients, trees, units, weights, and what is refused."""

import json
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_absolute_error, mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV

from xdcc.base.fit_data import FitData
from xdcc.boosting import MultiTargetXGBRegressor
from xdcc.boosting.target_losses import TargetLosses

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 8)).round(1)  # so few values that bins do not depend on the rows
NUMBERS = X[:, :4] + X[:, 2:6] ** 2 / 2 + RNG.normal(size=(400, 4)) / 4
OBJECTIVES = {
    "churn": "binary:logistic",
    "amount": "reg:squarederror",
    "fraud": "binary:logistic",
    "days": "reg:absoluteerror",
}
Y = pd.DataFrame(NUMBERS, columns=list(OBJECTIVES))
Y["churn"] = (Y["churn"] > 0.5).astype(float)
Y["fraud"] = (Y["fraud"] > 1).astype(float)
FEW = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1}
MIXED = FEW | {"objective": OBJECTIVES}
EVERY_KIND = ["binary:logistic", "reg:squarederror", "reg:absoluteerror"]


def test_gradients_of_the_first_round():
    """By hand: at a margin of 0, with weights, some targets unknown."""
    targets = np.array([[1, 3, 4], [0, np.nan, -1], [np.nan, 1, 0]], np.float32)
    losses = TargetLosses(EVERY_KIND, FitData(None, targets, np.array([1, 2, 0.5], np.float32)))
    grad, hess = losses.gradients(np.zeros((3, 3), np.float32))
    delta = ((1 * 2 + 2 * 1 + 0.5 * 0) / 3.5) ** 2
    first, second = delta / np.hypot(delta, 4), delta / np.hypot(delta, 1)
    expected = [[-0.5, -3, -4 * first], [2 * 0.5, 0, 2 * second], [0, -0.5, 0]]
    np.testing.assert_allclose(grad, expected, rtol=1e-6)
    expected = [[0.25, 1, first], [2 * 0.25, 0, 2 * second], [0, 0.5, 0.5]]
    np.testing.assert_allclose(hess, expected, rtol=1e-6)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("name", ["churn", "amount", "days"])
def test_start_is_that_of_xgboost(name, is_weighted):
    target = Y[[name]].to_numpy(np.float32)
    weight = RNG.random(400).astype(np.float32) if is_weighted else None
    params = {"objective": OBJECTIVES[name], "nthread": 1}
    config = xgb.train(params, xgb.DMatrix(X, target, weight=weight), 1).save_config()
    start = np.array(json.loads(json.loads(config)["learner"]["learner_model_param"]["base_score"]))
    if name == "churn":
        start = np.log(start / (1 - start))
    found = TargetLosses([OBJECTIVES[name]], FitData(None, target, weight)).base_score
    np.testing.assert_allclose(found, start, rtol=1e-5)


@pytest.mark.parametrize("weights", [None, "rows", "entries"])
def test_a_tree_for_each_target_is_that_of_stock(weights):
    unknown = Y.mask(RNG.random(Y.shape) < 0.2)
    shape = {None: (), "rows": (400,), "entries": Y.shape}[weights]
    weight = RNG.integers(1, 4, shape).astype(np.float32)
    model = MultiTargetXGBRegressor(**MIXED, sketch_size=0, outputs_per_tree=1)
    found = model.fit(X, unknown, None if weights is None else weight).predict(X)
    for j, (name, objective) in enumerate(OBJECTIVES.items()):
        known = unknown[name].notna().to_numpy()
        stock = xgb.train(
            {"objective": objective, "max_depth": 4, "nthread": 1},
            xgb.DMatrix(
                X[known],
                unknown[name][known],
                weight=np.broadcast_to(weight.T, Y.shape[::-1])[j][known],
            ),
            8,
        )
        expected = stock.predict(xgb.DMatrix(X[known]))
        np.testing.assert_allclose(found[known, j], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("sketch_size", [0, 1])
def test_units_do_not_matter(sketch_size):
    units = np.array([1, 1e6, 1, 1e-6])
    params = MIXED | {"sketch_size": sketch_size, "reg_alpha": 0.2}
    plain, scaled = (
        MultiTargetXGBRegressor(**params).fit(X, Y * by).predict(X) / by for by in (1, units)
    )
    np.testing.assert_allclose(scaled, plain, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("sketch_size", ["auto", 0, 2])
def test_every_target_is_learned(sketch_size):
    model = MultiTargetXGBRegressor(n_estimators=60, objective=OBJECTIVES, n_jobs=1)
    model.set_params(sketch_size=sketch_size).fit(X[:300], Y[:300])
    found, truth = model.predict(X[300:]), Y[300:].to_numpy()
    assert ((found[:, [0, 2]] >= 0.5) == truth[:, [0, 2]]).mean(axis=0).min() > 0.75
    scores = r2_score(truth, found, multioutput="raw_values")
    assert scores[[1, 3]].min() > 0.6
    assert model.score(X[300:], Y[300:]) == pytest.approx(scores.mean())


def test_one_target():
    column = MultiTargetXGBRegressor(**FEW, objective={"churn": "binary:logistic"})
    found = column.fit(X, Y["churn"]).predict(X)
    stock = xgb.XGBClassifier(**FEW).fit(X, Y["churn"]).predict_proba(X)[:, 1]
    assert found.shape == (400,)
    np.testing.assert_allclose(found, stock, rtol=1e-3, atol=1e-4)


def test_early_stopping_by_the_mean_of_relative_losses():
    model = MultiTargetXGBRegressor(
        n_estimators=300, objective=OBJECTIVES, early_stopping_rounds=5, n_jobs=1
    )
    held_out = Y[300:].mask(RNG.random((100, 4)) < 0.2)
    reordered = held_out[list(Y)[::-1]]
    model.fit(X[:300], Y[:300], eval_set=[(X[300:], reordered)])
    losses = model.evals_result_["validation_0"]["relative_loss"]
    assert list(model.evals_result_["validation_0"]) == ["relative_loss"]
    assert model.best_iteration_ < 299
    assert np.argmin(losses) == model.best_iteration_
    start = TargetLosses(
        list(OBJECTIVES.values()), FitData(None, Y[:300].to_numpy(np.float32), None)
    ).base_score
    kinds = {
        "binary:logistic": lambda y, p: log_loss(y, p, labels=[0, 1]),
        "reg:squarederror": mean_squared_error,
        "reg:absoluteerror": mean_absolute_error,
    }
    found, expected = model.predict(X[300:]), []
    for j, (name, objective) in enumerate(OBJECTIVES.items()):
        known = held_out[name].notna().to_numpy()
        constant = 1 / (1 + np.exp(-start[j])) if objective == "binary:logistic" else start[j]
        own, of_start = (
            kinds[objective](held_out[name][known], predicted[known])
            for predicted in (found[:, j], np.full(100, constant))
        )
        expected.append(own / of_start)
    assert min(losses) == pytest.approx(np.mean(expected), rel=1e-4)


def test_targets_without_a_loss_do_not_count():
    """In the held-out rows one target is unknown, one is constant."""
    objectives = {name: "reg:squarederror" for name in "abc"}
    train = pd.DataFrame(NUMBERS[:, :3], columns=list("abc")).assign(b=2.0)
    held_out = train.assign(c=np.nan)
    model = MultiTargetXGBRegressor(**FEW, objective=objectives)
    model.fit(X, train, eval_set=[(X, held_out), (X, train.assign(a=np.nan, c=np.nan))])
    error = mean_squared_error(train["a"], model.predict(X)[:, 0])
    (first,), (second,) = (list(found.values()) for found in model.evals_result_.values())
    assert first[-1] == pytest.approx(error / train["a"].var(ddof=0), rel=1e-4)
    assert set(second) == {0.0}


def test_training_goes_on():
    params = MIXED | {"n_estimators": 3, "sketch_size": 0}
    whole = MultiTargetXGBRegressor(**params | {"n_estimators": 6}).fit(X, Y)
    half = MultiTargetXGBRegressor(**params).fit(X, Y)
    for earlier in (half, half.booster_):
        further = clone(half).fit(X, Y, xgb_model=earlier)
        np.testing.assert_allclose(further.predict(X), whole.predict(X), atol=1e-5)
    plain = MultiTargetXGBRegressor(**params | {"objective": "reg:squarederror"}).fit(X, Y)
    for model, earlier, trained in (
        (half, plain, "reg:squarederror"),
        (half, plain.booster_, "reg:squarederror"),
        (plain, half, ",".join(OBJECTIVES.values())),
        (plain, half.booster_, ",".join(OBJECTIVES.values())),
    ):
        message = f"was trained with the objective {trained!r}; it must be"
        with pytest.raises(ValueError, match=re.escape(message)):
            clone(model).fit(X, Y, xgb_model=earlier)


def test_auto_divides_targets_that_share_nothing():
    rng = np.random.default_rng(1)
    many = rng.normal(size=(3000, 12))
    own = np.sign(many) + rng.normal(size=many.shape) / 4
    own[:, :6] = own[:, :6] > 0
    kinds = ["binary:logistic"] * 6 + ["reg:squarederror"] * 3 + ["reg:absoluteerror"] * 3
    objectives = {f"target_{j}": kind for j, kind in enumerate(kinds)}
    shared = np.sign(many[:, :1]) + rng.normal(size=many.shape) / 4
    shared[:, :6] = shared[:, :6] > 0
    units = np.repeat([1, 1e5], 6)
    found = [
        MultiTargetXGBRegressor(n_estimators=1, n_jobs=1, objective=objectives)
        .fit(many, target, weight)
        .labels_per_tree_
        for target, weight in (
            (own, None),
            (own * units, None),
            (shared, None),
            (own, rng.random(own.shape) + 0.5),
        )
    ]
    assert 0 < found[0] < 12
    assert found[1] == found[0] == found[3]
    assert found[2] == 0


def test_in_searches_and_copies():
    search = GridSearchCV(MultiTargetXGBRegressor(**MIXED), {"reg_lambda": [1, 10]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0
    model = search.best_estimator_
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    assert list(model.set_output(predict="pandas").predict(X).columns) == list(OBJECTIVES)
    assert clone(model).get_params() == model.get_params()
    expected = np.asarray(model.predict(X))
    model.set_params(objective="count:poisson")  # the booster was trained before
    np.testing.assert_array_equal(np.asarray(model.predict(X)), expected)


def test_no_warnings():
    far = MIXED | {"learning_rate": 100}  # odds too large for single precision
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiTargetXGBRegressor(**far).fit(X, Y, eval_set=[(X, Y)]).predict(X)


@pytest.mark.parametrize(
    ("params", "target", "message"),
    [
        ({"objective": {"churn": "binary:logistic"}}, Y, "without an entry for target 'amount'"),
        (
            {"objective": OBJECTIVES | {"Days": "reg:absoluteerror"}},
            Y,
            "objective names 'Days', but the targets are 'churn', 'amount', 'fraud', 'days'",
        ),
        ({"objective": OBJECTIVES}, Y.to_numpy(), "without an entry for target 'target_0'"),
        (
            {"objective": OBJECTIVES | {"days": "reg:gamma"}},
            Y,
            "objective['days']='reg:gamma': it must be one of 'binary:logistic', 'reg:squared",
        ),
        ({"objective": OBJECTIVES | {"days": ["mae"]}}, Y, "objective['days']=['mae']: it must be"),
        ({"objective": list(OBJECTIVES.values())}, Y, "or a dict of objectives by target"),
        (
            {"objective": OBJECTIVES},
            Y.assign(fraud=np.arange(400.0)),
            "Target 'fraud' of y is 2.0 in row 2; with the objective 'binary:logistic' it must be "
            "0 or 1, or NaN",
        ),
        ({"objective": OBJECTIVES}, Y.assign(churn=0.5), "Target 'churn' of y is 0.5 in row 0"),
        ({"objective": OBJECTIVES}, Y.assign(days=np.nan), "row that counts: target 'days'"),
        (
            {"objective": OBJECTIVES, "eval_metric": "rmse"},
            Y,
            "eval_metric='rmse' with an objective for each target: it must be None",
        ),
    ],
)
def test_bad_objectives_and_targets(params, target, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        MultiTargetXGBRegressor(**(FEW | params)).fit(X, target)


def test_bad_targets_to_evaluate_on():
    bad = Y.assign(churn=2 * Y["churn"])
    with pytest.raises(ValueError, match=r"Target 'churn' of eval_set\[0\] is 2.0 in row"):
        MultiTargetXGBRegressor(**MIXED).fit(X, Y, eval_set=[(X, bad)])


def test_weights_of_entries():
    """A weight of 0 makes a target unknown, for any objective."""
    is_known = RNG.random(Y.shape) < 0.7
    weight = pd.DataFrame(is_known.astype(float), columns=list(Y))
    for params in (FEW, MIXED):
        by_weight = MultiTargetXGBRegressor(**params).fit(X, Y, weight[list(Y)[::-1]])
        unknown = MultiTargetXGBRegressor(**params).fit(X, Y.where(is_known))
        np.testing.assert_array_equal(by_weight.predict(X), unknown.predict(X))
    with pytest.raises(ValueError, match="MultiTargetXGBRegressor learns with weights of rows"):
        MultiTargetXGBRegressor(**FEW).fit(X, Y, weight + RNG.random(Y.shape))
    with pytest.raises(ValueError, match=r"sample_weight is -1\.0 in row 0 for label 'churn'"):
        MultiTargetXGBRegressor(**MIXED).fit(X, Y, np.full(Y.shape, -1.0))
