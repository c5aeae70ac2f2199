"""Bad input to the plugin: a clear error in the caller's terms, never a crash."""

import numpy as np
import pytest
import xgboost as xgb

X = np.random.default_rng(0).normal(size=(50, 3))
Y = (X[:, :2] > 0).astype(float)


def train(params=(), X=X, Y=Y, **data):
    params = {"objective": "multilabel:logistic"} | dict(params)
    return xgb.train(params, xgb.DMatrix(X, Y, **data), 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "multilabel:maxgain"}, "Unknown objective function: `multilabel:maxgain`"),
        (
            {"split_method": "avgGain"},
            r"Unknown split_method: `avgGain`. It is one of `maxGain` \(1\)",
        ),
        ({"split_method": 7}, "Unknown split_method: `7`"),
        (
            {"objective": "multilabel:maxGain", "split_method": "sumGain"},
            "`multilabel:maxGain` names another split method than split_method=`sumGain`",
        ),
        ({"min_child_weight": -1}, "min_child_weight"),
        ({"min_child_weight_scope": "some"}, "valid values are: {'all', 'any', 'mean'}"),
        ({"monotone_constraints": "(1,0,0,1)"}, "has 4 entries for 3 features"),
        ({"multi_strategy": "one_output_per_tree"}, "grows trees for all labels"),
        ({"tree_method": "exact"}, "Only the hist tree method is supported"),
        ({"eval_metric": "example_f2"}, "Unknown metric function example_f2"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(xgb.core.XGBoostError, match=message):
        train(params)


@pytest.mark.parametrize("params", [{}, {"sketch_size": 1}])
@pytest.mark.parametrize("value", [2.0, -1.0, 0.5])
def test_labels_other_than_zero_and_one(value, params):
    bad = Y.copy()
    bad[7, 1] = value
    with pytest.raises(xgb.core.XGBoostError, match="row 7 holds another value"):
        train(params, Y=bad)


def test_infinite_base_margin():
    matrix = xgb.DMatrix(X, Y)
    matrix.set_base_margin(np.full(Y.shape, np.nan))
    with pytest.raises(xgb.core.XGBoostError, match="A gradient is infinite or not a number"):
        xgb.train({"objective": "multilabel:logistic"}, matrix, 1)


def test_wrong_number_of_labels_or_features():
    booster = train()
    with pytest.raises(xgb.core.XGBoostError):
        xgb.train(
            {"objective": "multilabel:logistic"}, xgb.DMatrix(X, Y[:, :1]), 1, xgb_model=booster
        )
    with pytest.raises(xgb.core.XGBoostError, match="Number of columns does not match"):
        booster.predict(xgb.DMatrix(np.hstack([X, X])), validate_features=False)


@pytest.mark.filterwarnings("ignore:.*[Ee]mpty dataset")
def test_no_rows_and_no_labels():
    with pytest.raises(xgb.core.XGBoostError):
        train(Y=None)
    booster = train(X=X[:0], Y=Y[:0])
    assert booster.predict(xgb.DMatrix(X)).shape == (50, 2)


def test_constant_features_and_single_rows():
    booster = train(X=np.ones((10, 2)), Y=Y[:10])
    assert all(tree.count("leaf") == 1 for tree in booster.get_dump())
    assert train(X=X[:1], Y=Y[:1]).predict(xgb.DMatrix(X[:1])).shape == (1, 2)
    all_missing = train(X=np.full((10, 2), np.nan), Y=Y[:10])
    assert all(tree.count("leaf") == 1 for tree in all_missing.get_dump())
