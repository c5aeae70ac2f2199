"""sumGain grows the trees of stock XGBoost's ``multi_output_tree``.

Stock's own updater is in the same library, behind its own objective, so both are trained here. The
models must be equal, unless some split ties with another: then the twin proves that it does, and
the trees before it must be equal.
"""

import numpy as np
import pytest
import xgboost as xgb

from xdcc.boosting.reference import gradients
from xdcc.boosting.tree_comparison import compare_trees, read_trees
from xdcc.data import load_dataset

N_ROUNDS = 8
OURS = {"objective": "multilabel:logistic", "split_method": "sumGain"}
STOCK = {"objective": "binary:logistic", "multi_strategy": "multi_output_tree"}
POLICIES = {
    "depthwise": {"max_depth": 6},
    "lossguide": {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 24},
}


def random_data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 12))
    X[:, ::3] = X[:, ::3].round(1)
    Y = (X[:, :5] + 0.5 * X[:, 5:10] + rng.normal(size=(600, 5)) > 0.4).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, Y


def mostly_zeros(seed=0):
    """Dense; zero is the bin in the middle of a feature, its lowest, its highest, or all of it."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(500, 16))
    values[:, 5:10] = np.abs(values[:, 5:10])
    values[:, 10:15] = -np.abs(values[:, 10:15]).round()
    values[:, 15] = 0
    X = np.where(rng.random(values.shape) < rng.uniform(0.05, 0.6, 16), values, 0)
    Y = (X @ rng.normal(size=(16, 5)) + 0.5 * rng.normal(size=(500, 5)) > 0.4).astype(float)
    return X, Y


def load(name):
    if name == "random with missing values":
        return random_data()
    if name == "random, mostly zeros":
        return mostly_zeros()
    data = load_dataset(name, split="train")
    return data.X, data.Y


def train_both(X, Y, params, weight=None):
    """Train ours and stock's; return both and the matrix."""
    matrix = xgb.DMatrix(X, Y, weight=weight)
    scope = {"min_child_weight_scope": "mean"} if params.get("min_child_weight") else {}
    ours = xgb.train(OURS | scope | params, matrix, N_ROUNDS)
    return ours, xgb.train(STOCK | params, matrix, N_ROUNDS), matrix


def first_difference(ours, stock):
    """Position of the first tree whose splits differ, None if there is none."""
    for i, (tree, expected) in enumerate(zip(read_trees(ours), read_trees(stock), strict=True)):
        for field in ("feature", "threshold", "default_left", "left", "right"):
            if not np.array_equal(getattr(tree, field), getattr(expected, field)):
                return i
    return None


def assert_equal_up_to_ties(ours, stock, matrix, X, Y, min_child_weight):
    different = first_difference(ours, stock)
    same = slice(0, N_ROUNDS if different is None else different)
    if same.stop:
        np.testing.assert_allclose(
            ours.predict(matrix, iteration_range=(0, same.stop)),
            stock.predict(matrix, iteration_range=(0, same.stop)),
            rtol=0,
            atol=1e-5,
        )
    if different is not None:
        X = X.toarray() if hasattr(X, "toarray") else X
        margin = (
            stock.predict(matrix, iteration_range=(0, different), output_margin=True)
            if different
            else xgb.train(STOCK | {"eta": 0}, matrix, 1).predict(matrix, output_margin=True)
        )
        comparison = compare_trees(
            read_trees(ours)[different],
            read_trees(stock)[different],
            X,
            *gradients(Y, margin),
            "sumGain",
            min_child_weight=min_child_weight,
            scope="mean",
        )
        assert comparison.ties > 0


@pytest.mark.parametrize("min_child_weight", [0.0, 1.0])
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize(
    "name",
    [
        *(
            pytest.param(name, marks=pytest.mark.data(name))
            for name in ("emotions", "scene", "yeast", "enron")
        ),
        "digits",
        "random with missing values",
        "random, mostly zeros",
    ],
)
def test_same_trees_as_stock(name, policy, min_child_weight):
    X, Y = load(name)
    params = policy | {"min_child_weight": min_child_weight, "max_bin": 64}
    ours, stock, matrix = train_both(X, Y, params)
    assert_equal_up_to_ties(ours, stock, matrix, X, Y, min_child_weight)


@pytest.mark.parametrize(
    "params",
    [
        {"alpha": 0.5, "lambda": 2.0},
        {"gamma": 3.0},
        {"max_delta_step": 0.3},
        {"subsample": 0.6, "seed": 3},
        {"subsample": 0.6, "sampling_method": "gradient_based", "seed": 3},
        {"colsample_bytree": 0.7, "colsample_bylevel": 0.7, "colsample_bynode": 0.5, "seed": 5},
        {"num_parallel_tree": 3, "subsample": 0.7, "seed": 1},
        {"interaction_constraints": "[[0, 1, 2, 3], [4, 5, 6]]"},
        {"base_score": 0.3},
        {"scale_pos_weight": 2.0, "base_score": 0.4},
        {"max_bin": 8},
    ],
    ids=lambda params: next(iter(params)),
)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("data", [random_data, mostly_zeros])
def test_same_predictions_under_every_parameter(data, params, weighted):
    X, Y = data(seed=1)
    weight = np.random.default_rng(2).uniform(0.2, 3.0, len(X)) if weighted else None
    ours, stock, matrix = train_both(X, Y, {"min_child_weight": 0.0, **params}, weight)
    plain = xgb.train(OURS | {"min_child_weight": 0.0}, matrix, N_ROUNDS)
    np.testing.assert_allclose(ours.predict(matrix), stock.predict(matrix), rtol=0, atol=1e-5)
    assert not np.allclose(ours.predict(matrix), plain.predict(matrix)), (
        "the parameter does nothing"
    )


def test_one_label_equals_binary_logistic():
    X, Y = random_data()
    matrix = xgb.DMatrix(X, Y[:, :1])
    ours = xgb.train(OURS, matrix, N_ROUNDS)
    stock = xgb.train({"objective": "binary:logistic", "min_child_weight": 0}, matrix, N_ROUNDS)
    np.testing.assert_allclose(ours.predict(matrix), stock.predict(matrix), rtol=0, atol=1e-5)
    # stock's default
    ours = xgb.train(OURS | {"min_child_weight": 1}, matrix, N_ROUNDS)
    stock = xgb.train({"objective": "binary:logistic"}, matrix, N_ROUNDS)
    np.testing.assert_allclose(ours.predict(matrix), stock.predict(matrix), rtol=0, atol=1e-5)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("min_child_weight", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("data", [random_data, mostly_zeros])
def test_any_single_label(data, weighted, min_child_weight, policy):
    X, Y = data(seed=3)
    weight = np.random.default_rng(4).uniform(0.2, 3.0, len(X)) if weighted else None
    params = policy | {"min_child_weight": min_child_weight}
    for label in range(Y.shape[1]):
        ours, stock, matrix = train_both(X, Y[:, label], params, weight)
        np.testing.assert_allclose(ours.predict(matrix), stock.predict(matrix), rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_all_rows_are_lighter_than_the_floor(n_labels):
    """Stock's root has weights then, and so has ours in stock's reading of `min_child_weight`.

    In our own readings a label that is lighter has weight 0 in every node, the root too.
    """
    X, Y = random_data()
    X, Y = X[:10], Y[:10, :n_labels]
    params = {"min_child_weight": 2.6, "base_score": 0.4}  # more than 10 rows of .24
    _, stock, matrix = train_both(X, Y, params)
    margin = stock.predict(matrix, output_margin=True)
    assert np.abs(margin - np.log(0.4 / 0.6)).min() > 0.01
    for scope, expected in {
        "mean": margin,
        "any": np.log(0.4 / 0.6),
        "all": np.log(0.4 / 0.6),
    }.items():
        ours = xgb.train(OURS | params | {"min_child_weight_scope": scope}, matrix, N_ROUNDS)
        found = ours.predict(matrix, output_margin=True)
        np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=1e-5)


@pytest.mark.parametrize("data", [random_data, mostly_zeros])
def test_going_on_with_another_matrix(data):
    boosters = []
    for params in (OURS, STOCK | {"min_child_weight": 0}):
        first, second = (xgb.DMatrix(*data(seed)) for seed in (1, 2))
        booster = xgb.Booster(params, [first, second])
        for round_, matrix in enumerate([first, second, second, first]):
            booster.update(matrix, round_)
        boosters.append(booster.predict(first))
    np.testing.assert_allclose(*boosters, rtol=0, atol=1e-5)
