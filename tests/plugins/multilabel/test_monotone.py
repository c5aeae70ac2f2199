"""Monotone constraints: trees of stock XGBoost and of a naive reference, and ordered predictions.

Stock XGBoost has the same rules for `multi_output_tree` and, with a single label, for its other
trees; both are in the same library.
"""

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.boosting import (
    SPLIT_METHODS,
    cuts_of_distinct_values,
    goes_left,
    gradients,
    label_weights_and_gains,
    split_allowed,
)
from tests.reference.tree_comparison import read_trees

N_ROUNDS = 6
ORDERS = (1, -1, 0, 1, 0, -1)
OURS = {"objective": "multilabel:logistic", "nthread": 1, "monotone_constraints": str(ORDERS)}
STOCK = OURS | {"objective": "binary:logistic", "multi_strategy": "multi_output_tree"}


def make_data(n_rows=300, n_labels=4, missing=0.15, unknown=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, len(ORDERS)))
    X[:, ::2] = X[:, ::2].round(1)
    # Some labels follow the constraints, some go against them.
    Y = (X @ rng.normal(size=(len(ORDERS), n_labels)) + rng.normal(size=(n_rows, n_labels))) > 0.3
    Y = Y.astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    Y[rng.random(Y.shape) < unknown] = np.nan
    return X, Y


def largest_step_back(booster, X):
    """How far a prediction ever moves against a constraint, over values and over missing ones."""
    worst = 0.0
    for feature, order in enumerate(ORDERS):
        if order == 0:
            continue
        values = np.unique(X[~np.isnan(X[:, feature]), feature])
        grid = np.concatenate([[values[0] - 1], (values[1:] + values[:-1]) / 2, [values[-1] + 1]])
        rows = np.repeat(X[:15], len(grid), axis=0)
        rows[:, feature] = np.tile(grid, 15)
        margin = booster.predict(xgb.DMatrix(rows, nthread=1), output_margin=True)
        steps = np.diff(margin.reshape(15, len(grid), -1), axis=1)
        worst = max(worst, float((-order * steps).max(initial=0)))
    return worst


@pytest.mark.parametrize("max_list_rows", [-1, 0, 60])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_child_weight": 2.0},
        {"alpha": 0.5, "lambda": 2.0},
        {"lambda": 0.01},
        {"max_delta_step": 0.3},
        {"gamma": 1.0},
        {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 24},
        {"subsample": 0.6, "seed": 3},
        {"interaction_constraints": "[[0, 1, 2], [3, 4, 5]]"},
    ],
    ids=lambda params: next(iter(params), "plain"),
)
def test_same_predictions_as_stock(params, max_list_rows):
    X, Y = make_data()
    for labels in (Y, Y[:, 0], Y[:, 1]):
        matrix = xgb.DMatrix(X, labels, nthread=1)
        params = {"min_child_weight": 0.0} | params
        own = {"max_list_rows": max_list_rows, "min_child_weight_scope": "mean"}
        ours = xgb.train(OURS | params | own, matrix, N_ROUNDS).predict(matrix)
        stock = xgb.train(STOCK | params, matrix, N_ROUNDS).predict(matrix)
        np.testing.assert_allclose(ours, stock, rtol=0, atol=1e-5)
        free = xgb.train(OURS | params | own | {"monotone_constraints": "()"}, matrix, N_ROUNDS)
        assert not np.allclose(ours, free.predict(matrix), atol=1e-3)


class Reference:
    """The rules of a constrained node, written naively, also for many splits at once."""

    def __init__(self, method, penalties, floor):
        self.method, self.penalties, self.floor = method, penalties, floor

    def weights(self, G, H, bounds):
        return np.clip(label_weights_and_gains(G, H, **self.penalties, **self.floor)[0], *bounds)

    def child_weights(self, left, right, bounds, order):
        """Weights of both children, and whether a label had to be brought in order."""
        w, u = self.weights(*left, bounds), self.weights(*right, bounds)
        wrong = order * (w - u) > 0
        both = (left[0] + right[0], left[1] + right[1])
        doubled = {k: v if k == "max_delta_step" else 2 * v for k, v in self.penalties.items()}
        common = np.clip(label_weights_and_gains(*both, **doubled, **self.floor)[0], *bounds)
        return np.where(wrong, common, w), np.where(wrong, common, u), wrong.any(axis=-1)

    def score(self, G, H, weights):
        counts = H > 0
        if self.floor["scope"] != "mean":
            counts &= self.floor["min_child_weight"] <= H
        alpha, reg_lambda = self.penalties["alpha"], self.penalties["reg_lambda"]
        gains = -(2 * G * weights + (H + reg_lambda) * weights**2 + 2 * alpha * abs(weights))
        terms = {"Gain": gains, "Weight": weights, "AbsG": abs(weights)}[self.method[3:]]
        terms = np.where(counts, terms, 0)
        return terms.sum(axis=-1) if self.method[:3] == "sum" else terms.max(axis=-1)

    def gain(self, node, left, right, bounds, order):
        w, u, wrong = self.child_weights(left, right, bounds, order)
        allowed = split_allowed(left[1], right[1], **self.floor)
        if w.shape[-1] == 1:
            allowed = allowed & ~wrong
        own = self.score(*node, self.weights(*node, bounds))
        return np.where(allowed, self.score(*left, w) + self.score(*right, u) - own, -np.inf)


def check_tree(tree, reference, X, grad, hess, cuts, max_depth, learning_rate):
    """Compare each split's gain with the best there is, and each leaf's value; count the nodes."""
    X = X.astype(np.float32)

    def sums(rows):
        return grad[rows].sum(axis=0), hess[rows].sum(axis=0)

    n_labels = grad.shape[1]
    free = (np.full(n_labels, -np.inf), np.full(n_labels, np.inf))
    pending = [(0, np.arange(len(X)), free, reference.weights(*sums(slice(None)), free), 0)]
    n_nodes = 0
    while pending:
        node, rows, bounds, weights, depth = pending.pop()
        n_nodes += 1

        def gains(feature, left, rows=rows, bounds=bounds):
            """Gains of splits; `left` is a matrix (n_splits, n_rows)."""
            sides = [
                [np.where(side[:, :, None], of_row[rows], 0).sum(axis=1) for of_row in (grad, hess)]
                for side in (left, ~left)
            ]
            return reference.gain(sums(rows), *sides, bounds, ORDERS[feature])

        best = max(
            gains(f, goes_left(X[rows, f], thresholds[:, None], default_left)).max()
            for f, thresholds in enumerate(cuts)
            for default_left in (False, True)
        )
        if tree.is_leaf(node):
            assert depth == max_depth or best <= 1e-6 + 1e-5
            # Those of the split above: with a floor, a common weight need not lie between both.
            expected = learning_rate * weights
            np.testing.assert_allclose(tree.leaf_value[node], expected, atol=1e-5)
            continue
        feature, left = tree.feature[node], tree.goes_left(node, X[rows])
        np.testing.assert_allclose(tree.gain[node], best, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(gains(feature, left[None]), best, rtol=1e-5, atol=1e-6)
        order = ORDERS[feature]
        w, u, _ = reference.child_weights(sums(rows[left]), sums(rows[~left]), bounds, order)
        lower, upper = bounds
        middle = (w + u) / 2
        of_left = {0: bounds, 1: (lower, middle), -1: (middle, upper)}[order]
        of_right = {0: bounds, 1: (middle, upper), -1: (lower, middle)}[order]
        pending += [
            (tree.left[node], rows[left], of_left, w, depth + 1),
            (tree.right[node], rows[~left], of_right, u, depth + 1),
        ]
    return n_nodes


@pytest.mark.parametrize("method", SPLIT_METHODS)
@settings(max_examples=3, deadline=None)
@given(
    n_labels=st.sampled_from([1, 3]),
    unknown=st.sampled_from([0, 0.3]),
    weighted=st.booleans(),
    scope=st.sampled_from(["any", "all", "mean"]),
    penalties=st.fixed_dictionaries(
        {
            "reg_lambda": st.sampled_from([0.4, 1]),
            "alpha": st.sampled_from([0, 0.3]),
            "max_delta_step": st.sampled_from([0, 0.35]),
        }
    ),
    min_child_weight=st.sampled_from([0, 0.83]),
    max_list_rows=st.sampled_from([-1, 0, 9]),
    seed=st.integers(0, 1000),
)
def test_splits_and_leaves_are_those_of_the_reference(
    method,
    n_labels,
    unknown,
    weighted,
    scope,
    penalties,
    min_child_weight,
    max_list_rows,
    seed,
):
    X, Y = make_data(40, n_labels, 0.2, unknown, seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(X)) if weighted else None
    floor = {"min_child_weight": min_child_weight, "scope": scope}
    reference = Reference(method, penalties, floor)
    matrix = xgb.DMatrix(X, Y, weight=weight, nthread=1)
    params = {
        "split_method": method,
        "min_child_weight": min_child_weight,
        "min_child_weight_scope": scope,
        "max_depth": 3,
        "base_score": 0.4,
        "max_list_rows": max_list_rows,
    }
    booster = xgb.train(OURS | penalties | params, matrix, 2)
    margin = np.full(Y.shape, np.log(0.4 / 0.6))
    # Missing values on the left and all others on the right: not the same as the other way round.
    cuts = [np.append(of_feature, -np.inf) for of_feature in cuts_of_distinct_values(X)]
    for i, tree in enumerate(read_trees(booster)):
        grad, hess = gradients(Y, margin, weight)
        check_tree(tree, reference, X, grad, hess, cuts, 3, 0.3)
        margin = booster.predict(matrix, output_margin=True, iteration_range=(0, i + 1))
        margin = margin.reshape(Y.shape)


SEARCHES = [
    {},
    {"sketch_size": 1},
    {"sketch_size": 2, "sketch_method": "top"},
    {"sketch_size": 6},  # by clusters
    {"labels_per_tree": 3},
    {"labels_per_tree": 1},
    {"labels_per_tree": 4, "sketch_size": 1},
]


@settings(max_examples=30, deadline=None)
@given(
    search=st.sampled_from(SEARCHES),
    params=st.fixed_dictionaries(
        {},
        optional={
            "split_method": st.sampled_from(SPLIT_METHODS),
            "min_child_weight": st.sampled_from([1.0]),
            "min_child_weight_scope": st.sampled_from(["any", "all", "mean"]),
            "alpha": st.sampled_from([0.5]),
            "lambda": st.sampled_from([0, 0.01, 5]),
            "max_delta_step": st.sampled_from([0.3]),
            "subsample": st.sampled_from([0.6]),
            "num_parallel_tree": st.sampled_from([2]),
            "max_list_rows": st.sampled_from([0, 40]),
            "max_leaves": st.sampled_from([12]),
        },
    ),
    unknown=st.sampled_from([0, 0.4]),
    n_labels=st.sampled_from([1, 7]),
    seed=st.integers(0, 1000),
)
def test_no_prediction_goes_against_a_constraint(search, params, unknown, n_labels, seed):
    X, Y = make_data(120, n_labels, 0.2, unknown, seed)
    if "max_leaves" in params:
        params = params | {"grow_policy": "lossguide", "max_depth": 0}
    if "sketch_size" in search:  # whose combinations have a sum of gains only
        params = params | {"split_method": "sumGain"}
    booster = xgb.train(OURS | search | params, xgb.DMatrix(X, Y, nthread=1), N_ROUNDS)
    assert largest_step_back(booster, X) < 1e-6


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_without_constraints_predictions_do_go_against_them(search):
    X, Y = make_data(120, 7)
    free = OURS | {"monotone_constraints": "()"}
    booster = xgb.train(free | search, xgb.DMatrix(X, Y, nthread=1), N_ROUNDS)
    assert largest_step_back(booster, X) > 1e-2


@pytest.mark.parametrize("search", SEARCHES, ids=str)
@pytest.mark.usefixtures("threads")
def test_the_same_model_for_any_number_of_threads(search):
    X, Y = make_data(2500, 7, unknown=0.2)
    matrix = xgb.DMatrix(X, Y, nthread=1)

    def dump(n):
        return xgb.train(OURS | search | {"nthread": n}, matrix, 3).get_dump(with_stats=True)

    assert dump(2) == dump(1)


@pytest.mark.parametrize("search", [{}, {"sketch_size": 1}])
def test_beside_masked_labels_and_categories(search):
    X, Y = make_data(200, 4)
    rng = np.random.default_rng(1)
    codes = (Y[:, :1] * 3 + rng.integers(0, 4, size=(200, 1))).round()
    known = np.where(rng.random(Y.shape) < 0.3, Y, np.nan)
    begin = X.shape[1] + 1
    matrix = xgb.DMatrix(
        np.hstack([X, codes, known]),
        Y,
        feature_types=["q"] * len(ORDERS) + ["c"] + ["q"] * 4,
        enable_categorical=True,
        nthread=1,
    )
    params = OURS | {"label_feature_begin": begin, "max_cat_to_onehot": 1} | search
    booster = xgb.train(params, matrix, N_ROUNDS)
    assert f"f{begin - 1}" in booster.get_score()
    grid = np.linspace(-3, 3, 40)
    for feature, order in enumerate(ORDERS):
        rows = np.repeat(np.hstack([X, codes, known])[:15], 40, axis=0)
        rows[:, feature] = np.tile(grid, 15)
        margin = booster.inplace_predict(rows, predict_type="margin", validate_features=False)
        steps = np.diff(margin.reshape(15, 40, -1), axis=1)
        assert order == 0 or (order * steps).min() > -1e-6


def test_categories_have_no_order():
    X = np.random.default_rng(0).integers(0, 5, size=(40, 2)).astype(float)
    matrix = xgb.DMatrix(X, X > 2, feature_types=["q", "c"], enable_categorical=True)
    with pytest.raises(xgb.core.XGBoostError, match="constrains feature 1, which is categorical"):
        xgb.train(OURS | {"monotone_constraints": "(1,1)"}, matrix, 1)
