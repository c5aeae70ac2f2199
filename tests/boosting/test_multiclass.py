"""``MultiClassXGBClassifier``: its trees, forms of y, weights of classes, and what it refuses."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from xdcc.boosting import MultiClassXGBClassifier
from xdcc.serving import stock_booster

X, y = load_digits(return_X_y=True)
X, y = X[:900], y[:900]
NAMES = np.array([f"digit {k}" for k in range(10)])
FEW = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1}


def test_trees_are_those_of_stock():
    model = MultiClassXGBClassifier(**FEW, sketch_size=0).fit(X, y)
    stock = xgb.train(
        {
            "objective": "multi:softprob",
            "num_class": 10,
            "multi_strategy": "multi_output_tree",
            "max_depth": 4,
            "nthread": 1,
            "verbosity": 0,
        },
        xgb.DMatrix(X, y),
        8,
    )
    expected = stock.predict(xgb.DMatrix(X))
    # Features of few values: splits can tie.
    assert (model.predict(X) == expected.argmax(axis=1)).mean() > 0.99
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-5)
    loss = [
        -np.log(proba[np.arange(900), y]).mean() for proba in (model.predict_proba(X), expected)
    ]
    assert loss[0] == pytest.approx(loss[1], rel=0.02)


@pytest.mark.parametrize("sketch_size", ["auto", 0, 2])
def test_it_learns(sketch_size):
    model = MultiClassXGBClassifier(n_estimators=60, sketch_size=sketch_size, n_jobs=1)
    assert model.fit(X[:700], y[:700]).score(X[700:], y[700:]) > 0.85


def test_names_of_classes():
    plain = MultiClassXGBClassifier(**FEW).fit(X, y)
    named = MultiClassXGBClassifier(**FEW).fit(X, NAMES[y], eval_set=[(X, pd.Series(NAMES[y]))])
    np.testing.assert_array_equal(named.classes_, NAMES)
    np.testing.assert_array_equal(named.predict(X), NAMES[plain.predict(X)])
    np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X))
    assert list(named.set_output(predict="pandas").predict_proba(X).columns) == NAMES.tolist()
    assert list(named.evals_result_["validation_0"]) == ["mlogloss"]


def test_two_classes():
    model = MultiClassXGBClassifier(**FEW).fit(X, y > 4)
    assert model.predict_proba(X).shape == (900, 2)
    assert model.score(X, y > 4) > 0.9


def test_weights_of_classes():
    rare = MultiClassXGBClassifier(**FEW, class_weight={**dict.fromkeys(range(10), 1), 8: 50})
    plain = MultiClassXGBClassifier(**FEW).fit(X, y)
    assert (rare.fit(X, y).predict(X) == 8).sum() > (plain.predict(X) == 8).sum()
    by_hand = clone(plain).fit(X, y, np.where(y == 8, 50.0, 1.0))
    np.testing.assert_array_equal(by_hand.predict_proba(X), rare.predict_proba(X))
    weight = np.linspace(0.5, 1, len(y))
    both = clone(rare).fit(X, y, weight)
    by_hand = clone(plain).fit(X, y, np.where(y == 8, 50.0, 1.0) * weight)
    np.testing.assert_allclose(by_hand.predict_proba(X), both.predict_proba(X), rtol=1e-5)
    assert clone(plain).set_params(class_weight="balanced").fit(X, y).score(X, y) > 0.8


def test_early_stopping_and_earlier_models():
    params = {"max_depth": 3, "n_jobs": 1, "sketch_size": 0}
    model = MultiClassXGBClassifier(n_estimators=300, early_stopping_rounds=3, **params)
    model.fit(X[:700], y[:700], eval_set=[(X[700:], y[700:])])
    assert model.best_iteration_ < 299
    whole = MultiClassXGBClassifier(n_estimators=4, **params).fit(X, y)
    half = MultiClassXGBClassifier(n_estimators=2, **params).fit(X, y)
    for earlier in (half, half.booster_):
        further = clone(half).fit(X, y, xgb_model=earlier)
        np.testing.assert_allclose(further.predict_proba(X), whole.predict_proba(X), atol=1e-5)
    with pytest.raises(
        ValueError, match="64 features and 10 classes, but X has 64 features and Y 2 "
    ):
        clone(half).fit(X, y > 4, xgb_model=half.booster_)


def test_searches_copies_and_stock_xgboost():
    pipeline = make_pipeline(StandardScaler(), MultiClassXGBClassifier(**FEW))
    search = GridSearchCV(pipeline, {"multiclassxgbclassifier__reg_lambda": [1, 10]}, cv=2)
    assert search.fit(X, NAMES[y]).best_score_ > 0.5
    model = MultiClassXGBClassifier(**FEW).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
    stock = stock_booster(model.get_booster()).predict(xgb.DMatrix(X))
    np.testing.assert_allclose(stock, model.predict_proba(X), rtol=0, atol=1e-6)


def test_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiClassXGBClassifier(**FEW, eval_metric="merror").fit(X, y, eval_set=[(X, y)]).predict(X)


def test_auto_sketches_race():
    X_more, y_more = load_digits(return_X_y=True)
    model = MultiClassXGBClassifier(n_estimators=1, n_jobs=1).fit(X_more, y_more)
    assert model.sketch_size_ == 1
    assert model.labels_per_tree_ in (0, 5, 3, 2)
    given = MultiClassXGBClassifier(n_estimators=1, n_jobs=1, outputs_per_tree=4).fit(X, y)
    assert given.labels_per_tree_ == 4


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.zeros(900), "The number of classes has to be greater than one; got one class, 0.0"),
        (np.full(900, "a"), "got one class, 'a'"),
        (np.where(y == 0, np.nan, y), "Input y contains NaN"),
        (y[:50], "inconsistent numbers of samples"),
        (np.eye(10)[y], "y should be a 1d array"),
        (y + 0.5, "Unknown label type"),
        (None, "requires y to be passed, but the target y is None"),
    ],
)
def test_bad_classes(target, message):
    with pytest.raises(ValueError, match=message):
        MultiClassXGBClassifier(**FEW).fit(X, target)
    with pytest.raises(ValueError, match=message):
        MultiClassXGBClassifier(**FEW, class_weight="balanced").fit(X, target)


def test_classes_that_were_not_there():
    model = MultiClassXGBClassifier(**FEW)
    seen = y != 7
    message = r"eval_set\[0\] holds the class 7, but in fit the classes were 0, 1, 2, 3, 4, \.\.\."
    with pytest.raises(ValueError, match=message):
        model.fit(X[seen], y[seen], eval_set=[(X, y)])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"class_weight": "heavy"}, "class_weight='heavy': it must be"),
        ({"class_weight": 3}, "class_weight=3: it must be a dict of weights at least 0 by class"),
        (
            {"class_weight": {3: -1}},
            "class_weight={3: -1}: it must be a dict of weights",
        ),
        ({"label_weight": [1, 2]}, "Unknown booster parameter 'label_weight'"),
        ({"eval_metric": "rmsle"}, "eval_metric='rmsle'"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        MultiClassXGBClassifier(**(FEW | params)).fit(X, y, eval_set=[(X, y)])
