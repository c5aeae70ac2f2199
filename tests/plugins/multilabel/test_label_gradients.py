"""Gradients of labels: label weights, unknown labels, and labels that are known as features.

Labels and their positives have weights. A label that is NaN has no gradient and is left out of the
metrics. `mask_known_labels`: a label that is among the features has no gradient in that row.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import xgboost as xgb

N_LABELS = 4
N_FEATURES = 6
OBJECTIVES = ["sumGain", "maxGain", "sumWeight", "maxWeight", "sumAbsG", "maxAbsG"]


def chain_data(seed=0, n=300):
    """Features and label features, some of them known; the labels; where they are known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES))
    Y = (X[:, :N_LABELS] + rng.normal(size=(n, N_LABELS)) > 0.3).astype(float)
    known = rng.random(Y.shape) < 0.4
    label_features = np.where(known, rng.random(Y.shape), np.nan)
    return np.hstack([X, label_features]), Y, known


def train(X, Y, method="sumGain", **params):
    params = {"objective": f"multilabel:{method}", "label_feature_begin": N_FEATURES} | params
    return xgb.train(params, xgb.DMatrix(X, Y), 5)


@pytest.mark.parametrize("method", OBJECTIVES)
def test_masked_labels_never_influence_the_model(method):
    X, Y, known = chain_data()
    changed = np.where(known, 1 - Y, Y)
    assert not np.array_equal(Y, changed)
    model = bytes(train(X, Y, method).save_raw("json"))
    assert model == bytes(train(X, changed, method).save_raw("json"))
    assert model != bytes(train(X, changed, method, label_feature_begin=-1).save_raw("json"))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"sketch_size": 1},
        {"sketch_size": 1, "labels_per_tree": 2, "nthread": 2},
        {"sketch_size": 2, "subsample": 0.7, "scale_pos_weight": 2.0},
        {"sketch_size": 1, "sketch_method": "top"},
    ],
    ids=lambda params: ", ".join(map(str, params.values())) or "all labels",
)
def test_a_mask_equals_an_unknown_label(params):
    X, Y, known = chain_data()
    unknown = np.where(known, np.nan, Y)
    masked = train(X, Y, **params)
    by_nan = train(X, unknown, label_feature_begin=-1, base_score=0.5, **params)
    assert masked.get_dump() == by_nan.get_dump()
    without = train(X, Y, label_feature_begin=-1, base_score=0.5, **params)
    assert masked.get_dump() != without.get_dump()


def test_labels_that_change_between_rounds_are_masked_anew():
    X, Y, known = chain_data()
    params = {"objective": "multilabel:sumGain", "label_feature_begin": N_FEATURES}

    def dump(later):
        matrix = xgb.DMatrix(X, Y)
        booster = xgb.Booster(params | {"sketch_size": 1}, [matrix])
        booster.update(matrix, 0)
        matrix.set_label(later)
        booster.update(matrix, 1)
        return booster.get_dump()

    assert dump(1 - Y) == dump(np.where(known, Y, 1 - Y)) != dump(Y)


def test_sparse_input_and_explicit_zeros():
    X, Y, known = chain_data()
    X[:, N_FEATURES:][known] = 0.0  # known to be absent: an explicit zero, not a missing value
    rows, columns = np.nonzero(~np.isnan(X))
    sparse = sp.csr_matrix((X[rows, columns], (rows, columns)), shape=X.shape)
    assert sparse.nnz == (~np.isnan(X)).sum()
    assert train(X, Y).get_dump() == train(sparse, Y).get_dump()


def test_nothing_known_masks_nothing_and_all_known_masks_all():
    X, Y, _ = chain_data()
    X[:, N_FEATURES:] = np.nan
    free = xgb.train({"objective": "multilabel:sumGain", "base_score": 0.5}, xgb.DMatrix(X, Y), 5)
    assert train(X, Y).get_dump() == free.get_dump()
    X[:, N_FEATURES:] = 0.5
    assert all(tree.count("leaf") == 1 for tree in train(X, Y).get_dump())
    np.testing.assert_allclose(train(X, Y).predict(xgb.DMatrix(X)), 0.5)


@pytest.mark.filterwarnings("ignore:.*manually specified the `updater`")
def test_named_explicitly_before_stocks_own_updater():
    X, Y, _known = chain_data()
    params = {
        "objective": "binary:logistic",
        "multi_strategy": "multi_output_tree",
        "base_score": 0.5,
        "min_child_weight": 0,
        "label_feature_begin": N_FEATURES,
        "updater": "mask_known_labels,grow_quantile_histmaker",
    }
    stock = xgb.train(params, xgb.DMatrix(X, Y), 5)
    np.testing.assert_allclose(
        stock.predict(xgb.DMatrix(X)), train(X, Y).predict(xgb.DMatrix(X)), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("kind", ["quantile", "external"])
def test_other_matrices(kind, in_batches):
    X, Y, _ = chain_data()
    params = {"objective": "multilabel:maxGain", "label_feature_begin": N_FEATURES}
    if kind == "quantile":
        matrix = xgb.QuantileDMatrix(X, Y)
    else:
        matrix = xgb.ExtMemQuantileDMatrix(in_batches(X, Y))
    expected = xgb.train(params, xgb.QuantileDMatrix(X, Y), 5)
    model = xgb.train(params, matrix, 5)
    assert model.get_dump() == expected.get_dump()


@pytest.mark.filterwarnings("ignore:.*manually specified the `updater`")
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"label_feature_begin": 7}, "would end at column 11, but the matrix has 10 columns"),
        ({"label_feature_begin": -2}, "label_feature_begin"),
        (
            {"label_feature_begin": -1, "updater": "mask_known_labels,grow_multilabel_hist"},
            "needs `label_feature_begin`",
        ),
        (
            {
                "objective": "binary:logistic",
                "updater": "mask_known_labels,grow_quantile_histmaker",
            },
            "needs trees for all labels at once",
        ),
    ],
)
def test_bad_label_features(params, message):
    X, Y, _ = chain_data()
    with pytest.raises(xgb.core.XGBoostError, match=message):
        train(X, Y, **params)


PARAMS = {"objective": "multilabel:logistic", "max_depth": 3, "nthread": 1, "base_score": 0.5}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5))
Y = (X[:, :3] + 0.5 * RNG.normal(size=(300, 3)) > [0.0, 0.8, 1.2]).astype(float)
Y[RNG.random(Y.shape) < 0.1] = np.nan


def train_label_weight(params=(), Y=Y, weight=None):
    return xgb.train(PARAMS | dict(params), xgb.DMatrix(X, Y, weight=weight), 4)


def trees(booster):
    return booster.get_dump(dump_format="json", with_stats=True)


@pytest.mark.parametrize("name", ["label_weight", "scale_pos_weight_per_label"])
def test_weights_of_one_change_nothing(name):
    assert trees(train_label_weight({name: [1.0, 1.0, 1.0]})) == trees(train_label_weight())
    assert trees(train_label_weight({name: [1.0, 2.0, 1.0]})) != trees(train_label_weight())


def test_equal_weights_of_labels_are_weights_of_rows():
    assert trees(train_label_weight({"label_weight": [2, 2, 2]})) == trees(
        train_label_weight(weight=np.full(300, 2.0))
    )


def test_equal_weights_of_positives_are_the_scalar():
    per_label = train_label_weight({"scale_pos_weight_per_label": [4, 4, 4]})
    assert trees(per_label) == trees(train_label_weight({"scale_pos_weight": 4}))
    both = train_label_weight({"scale_pos_weight_per_label": [2, 2, 2], "scale_pos_weight": 2})
    assert trees(both) == trees(per_label)


def test_a_label_without_weight_is_not_learned():
    found = train_label_weight({"label_weight": [1, 0, 1]})
    expected = train_label_weight(Y=np.column_stack([Y[:, 0], np.full(300, np.nan), Y[:, 2]]))
    np.testing.assert_array_equal(found.inplace_predict(X), expected.inplace_predict(X))
    assert (found.inplace_predict(X)[:, 1] == 0.5).all()


def test_gradients_by_hand():
    # A tree without a split: a leaf's value is -G / (H + lambda) from the start, 0.5.
    weights, positives = np.array([0.5, 1.0, 3.0]), np.array([1.0, 2.0, 4.0])
    booster = train_label_weight(
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
    booster = train_label_weight(params)
    copy = xgb.Booster(model_file=booster.save_raw("ubj"))
    np.testing.assert_array_equal(copy.inplace_predict(X), booster.inplace_predict(X))
    matrix = xgb.DMatrix(X, Y)
    eight = xgb.train(PARAMS | params, matrix, 8)
    copy.set_param({"nthread": 1, "max_depth": 3})
    for iteration in range(4, 8):
        copy.update(matrix, iteration)
    np.testing.assert_array_equal(copy.inplace_predict(X), eight.inplace_predict(X))


def test_models_without_weights_say_nothing_of_them():
    assert b"label_weight" not in bytes(train_label_weight().save_raw("json"))


@pytest.mark.parametrize("name", ["label_weight", "scale_pos_weight_per_label"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "{} has 2 entries for 3 labels"),
        ([1, -1, 1], "{} must be finite and not negative. Got: -1"),
        ([1, 1e39, 1], "{} must be finite and not negative. Got: inf"),
        ("many", "Unknown construct"),
    ],
)
def test_bad_weights(name, value, message):
    with pytest.raises(xgb.core.XGBoostError, match=message.format(name)):
        train_label_weight({name: value})


PARAMS_UNKNOWN_LABELS = {"objective": "multilabel:logistic", "max_depth": 3}


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
    params = PARAMS_UNKNOWN_LABELS | {"max_bin": 512}
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
    ours = xgb.train(params | PARAMS_UNKNOWN_LABELS, xgb.DMatrix(X, Y[:, :1]), 5)
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
    start = xgb.train(PARAMS_UNKNOWN_LABELS | {"eta": 0}, xgb.DMatrix(X, Y), 1).inplace_predict(
        X[:1]
    )[0]
    np.testing.assert_allclose(start, [*np.nanmean(Y[:, :3], axis=0), 0.5], rtol=1e-5)
    weight = np.arange(1.0, len(Y) + 1)
    matrix = xgb.DMatrix(X, Y, weight=weight)
    start = xgb.train(PARAMS_UNKNOWN_LABELS | {"eta": 0}, matrix, 1).inplace_predict(X[:1])[0]
    known = ~np.isnan(Y[:, 0])
    assert start[0] == pytest.approx(np.average(Y[known, 0], weights=weight[known]), rel=1e-5)


def test_constant_labels(data):
    X, Y = data
    Y = np.column_stack([Y[:, 0], np.zeros(len(Y)), np.ones(len(Y)), np.full(len(Y), np.nan)])
    predicted = xgb.train(PARAMS_UNKNOWN_LABELS, xgb.DMatrix(X, Y), 10).inplace_predict(X)
    assert (predicted[:, 1] < 1e-4).all()
    assert (predicted[:, 2] > 1 - 1e-4).all()
    np.testing.assert_allclose(predicted[:, 3], 0.5)


def test_logloss_leaves_them_out(data):
    X, Y = data
    matrix, results = xgb.DMatrix(X, Y), {}
    booster = xgb.train(
        PARAMS_UNKNOWN_LABELS,
        matrix,
        3,
        evals=[(matrix, "train")],
        evals_result=results,
        verbose_eval=False,
    )
    p, known = booster.predict(matrix), ~np.isnan(Y)
    loss = -np.log(np.where(Y == 1, p, 1 - p))[known].mean()
    assert results["train"]["logloss"][-1] == pytest.approx(loss, rel=1e-5)
