"""`mask_known_labels`: a label that stands among the features carries no gradient in that row."""

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
