"""Weights of labels and of their positives, as the objective has them."""

import numpy as np
import pytest
import xgboost as xgb

PARAMS = {"objective": "multilabel:logistic", "max_depth": 3, "nthread": 1, "base_score": 0.5}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5))
Y = (X[:, :3] + 0.5 * RNG.normal(size=(300, 3)) > [0.0, 0.8, 1.2]).astype(float)
Y[RNG.random(Y.shape) < 0.1] = np.nan


def train(params=(), Y=Y, weight=None):
    return xgb.train(PARAMS | dict(params), xgb.DMatrix(X, Y, weight=weight), 4)


def trees(booster):
    return booster.get_dump(dump_format="json", with_stats=True)


@pytest.mark.parametrize("name", ["label_weight", "scale_pos_weight_per_label"])
def test_weights_of_one_change_nothing(name):
    assert trees(train({name: [1.0, 1.0, 1.0]})) == trees(train())
    assert trees(train({name: [1.0, 2.0, 1.0]})) != trees(train())


def test_equal_weights_of_labels_are_weights_of_rows():
    assert trees(train({"label_weight": [2, 2, 2]})) == trees(train(weight=np.full(300, 2.0)))


def test_equal_weights_of_positives_are_the_scalar():
    per_label = train({"scale_pos_weight_per_label": [4, 4, 4]})
    assert trees(per_label) == trees(train({"scale_pos_weight": 4}))
    both = train({"scale_pos_weight_per_label": [2, 2, 2], "scale_pos_weight": 2})
    assert trees(both) == trees(per_label)


def test_a_label_without_weight_is_not_learned():
    found = train({"label_weight": [1, 0, 1]})
    expected = train(Y=np.column_stack([Y[:, 0], np.full(300, np.nan), Y[:, 2]]))
    np.testing.assert_array_equal(found.inplace_predict(X), expected.inplace_predict(X))
    assert (found.inplace_predict(X)[:, 1] == 0.5).all()


def test_gradients_by_hand():
    # A tree without a split: a leaf's value is -G / (H + lambda) from the start, 0.5.
    weights, positives = np.array([0.5, 1.0, 3.0]), np.array([1.0, 2.0, 4.0])
    booster = train(
        {
            "label_weight": weights.tolist(),
            "scale_pos_weight_per_label": positives.tolist(),
            "scale_pos_weight": 1.5,
            "gamma": 1e9,
            "eta": 1.0,
        },
        weight=np.full(300, 0.25),
    )[:1]
    factor = 0.25 * weights * np.where(Y == 1, 1.5 * positives, 1.0)
    factor = np.where(np.isnan(Y), 0, factor)
    G = np.sum((0.5 - np.nan_to_num(Y)) * factor, axis=0)
    H = np.sum(0.25 * factor, axis=0)
    margin = booster.predict(xgb.DMatrix(X[:1]), output_margin=True)[0]
    np.testing.assert_allclose(margin, -G / (H + 1), rtol=1e-5)


def test_start_is_the_weighted_share_of_positives():
    params = {"scale_pos_weight_per_label": [1, 2, 4], "label_weight": [1, 5, 0], "eta": 0.0}
    matrix = xgb.DMatrix(X, Y)
    booster = xgb.train({k: v for k, v in PARAMS.items() if k != "base_score"} | params, matrix, 1)
    positive = np.nansum(Y, axis=0) * [1, 2, 4]
    share = positive / (positive + np.nansum(1 - Y, axis=0))
    np.testing.assert_allclose(booster.inplace_predict(X[:1])[0], share, rtol=1e-5)


def test_saved_and_continued():
    params = {"label_weight": [1, 3, 0.5], "scale_pos_weight_per_label": [1, 2, 3]}
    booster = train(params)
    copy = xgb.Booster(model_file=booster.save_raw("ubj"))
    np.testing.assert_array_equal(copy.inplace_predict(X), booster.inplace_predict(X))
    matrix = xgb.DMatrix(X, Y)
    eight = xgb.train(PARAMS | params, matrix, 8)
    copy.set_param({"nthread": 1, "max_depth": 3})
    for iteration in range(4, 8):
        copy.update(matrix, iteration)
    np.testing.assert_array_equal(copy.inplace_predict(X), eight.inplace_predict(X))


def test_models_without_weights_say_nothing_of_them():
    assert b"label_weight" not in bytes(train().save_raw("json"))


@pytest.mark.parametrize("name", ["label_weight", "scale_pos_weight_per_label"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "{} has 2 entries for 3 labels"),
        ([1, -1, 1], "{} is finite and not negative. Got: -1"),
        ([1, 1e39, 1], "{} is finite and not negative. Got: inf"),
        ("many", "Unknown construct"),
    ],
)
def test_bad_weights(name, value, message):
    with pytest.raises(xgb.core.XGBoostError, match=message.format(name)):
        train({name: value})
