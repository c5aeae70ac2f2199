"""Categorical splits of `grow_multilabel_hist`, against stock XGBoost and a NumPy reference.

Stock XGBoost's updater, with its own objective, gets the same gradients. The reference lists the
splits that a node may have; the chosen split must be the best of them.
"""

import json
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse

from tests.reference import boosting as reference
from tests.reference import sketch as sketch_reference
from tests.reference.boosting import SMALLEST_GAIN, SPLIT_METHODS

OURS = {"objective": "multilabel:logistic", "base_score": 0.5, "nthread": 1}
STOCK = {
    "objective": "binary:logistic",
    "multi_strategy": "multi_output_tree",
    "base_score": 0.5,
    "min_child_weight": 0,
    "nthread": 1,
}
DEFAULT_LIMITS = {"max_cat_to_onehot": 4, "max_cat_threshold": 64}


@dataclass(frozen=True)
class Node:
    """A node of a tree; a leaf has no feature but a value for each label."""

    feature: int | None
    threshold: float
    right_categories: frozenset[int] | None  # None: the split is on a number
    default_left: bool
    left: int
    right: int
    gain: float
    value: np.ndarray

    def goes_left(self, X):
        """Which rows go left. [n_rows]"""
        column = X[:, self.feature].astype(np.float32)
        if self.right_categories is None:
            return reference.goes_left(column, self.threshold, self.default_left)
        to_right = np.isin(column, list(self.right_categories))
        return np.where(np.isnan(column), self.default_left, ~to_right)


def read_trees(booster):
    """Read the trees of a booster from its JSON form; each is a list of nodes."""
    model = json.loads(bytes(booster.save_raw("json")))
    return [read_tree(tree) for tree in model["learner"]["gradient_booster"]["model"]["trees"]]


def read_tree(tree):
    sizes = zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    )
    categories = {i: frozenset(tree["categories"][at : at + n]) for i, at, n in sizes}
    n_labels = int(tree["tree_param"]["size_leaf_vector"])
    vectors = np.reshape(tree.get("leaf_weights", []), (-1, n_labels))
    nodes = []
    for i, (left, right) in enumerate(
        zip(tree["left_children"], tree["right_children"], strict=True)
    ):
        is_leaf = left == -1
        assert (tree["split_type"][i] == 1) == (i in categories)
        condition = tree["split_conditions"][i]
        nodes.append(
            Node(
                feature=None if is_leaf else tree["split_indices"][i],
                threshold=condition,
                right_categories=categories.get(i),
                default_left=bool(tree["default_left"][i]),
                left=left,
                right=right,
                gain=tree["loss_changes"][i],
                value=vectors[right] if is_leaf and len(vectors) else np.array([condition]),
            )
        )
    return nodes


def margins(trees, X):
    """Sum of the leaf values that each row reaches. [n_rows, n_labels]"""
    result = 0.0
    for tree in trees:
        values = np.zeros((len(X), len(next(n for n in tree if n.feature is None).value)))
        pending = [(0, np.arange(len(X)))]
        while pending:
            i, rows = pending.pop()
            node = tree[i]
            if node.feature is None:
                values[rows] = node.value
            else:
                left = node.goes_left(X[rows])
                pending += [(node.left, rows[left]), (node.right, rows[~left])]
        result = result + values
    return result


def gains_of(sides, G, H, method, scope="any", min_child_weight=0.0, **penalties):
    """Gains of splits that send these rows of the node left, one per side; -inf: forbidden."""
    options = {"scope": scope, "min_child_weight": min_child_weight}
    score = partial(reference.node_score, method=method, **options, **penalties)
    lefts = np.array(sides)[:, :, np.newaxis]
    left, right = (
        [np.where(rows, sums, 0).sum(axis=1) for sums in (G, H)] for rows in (lefts, ~lefts)
    )
    gains = score(*left) + score(*right) - score(G.sum(axis=0), H.sum(axis=0))
    return np.where(reference.split_allowed(left[1], right[1], **options), gains, -np.inf)


def one_hot_sides(column, n_categories):
    """Which rows a split of one category from all others sends left, and without a value right."""
    for category in range(n_categories):
        yield column != category
        yield (column != category) & ~np.isnan(column)


def category_sides(
    column, n_categories, G, H, max_cat_to_onehot, max_cat_threshold, cat_smoothing=0, **penalties
):
    """Which rows each split on a categorical feature sends left."""
    if n_categories < max_cat_to_onehot:
        yield from one_hot_sides(column, n_categories)
        return

    of_node = G.sum(axis=0), H.sum(axis=0)

    def weights(rows, smoothing=0.0):
        share = np.divide(smoothing, of_node[1], out=np.zeros(G.shape[1]), where=of_node[1] > 0)
        sums = [
            a[rows].sum(axis=0) + share * total for a, total in zip((G, H), of_node, strict=True)
        ]
        return reference.label_weights_and_gains(*sums, **penalties)[0].astype(np.float32)

    direction = weights(slice(None)) if G.shape[1] > 1 else np.ones(1, np.float32)
    keys = [
        np.sum(direction * weights(column == c, cat_smoothing), dtype=float)
        for c in range(n_categories)
    ]
    order = np.argsort(keys, kind="stable")
    for n_parted in range(1, min(n_categories, max_cat_threshold)):
        yield ~np.isin(column, order[:n_parted])
        yield np.isin(column, order[n_categories - n_parted :])


def penalty_of(parts, H, noise, reg_lambda=1.0):
    """Estimate the gain that noise gives a division of these rows, as in `category_rules.h`."""

    def share(rows):
        hess = H[rows].sum(axis=0)
        return hess / (hess + reg_lambda)

    return max(0.0, np.sum(noise * (sum(map(share, parts)) - share(slice(None)))))


def assert_best_splits(
    tree,
    X,
    types,
    G,
    H,
    method,
    max_depth,
    limits,
    *,
    check_values=True,
    cat_penalty=0.0,
    **options,
):
    """Every node has the best split that the reference finds; no split of a leaf has a gain."""
    noise = (G**2).sum(axis=0) / H.sum(axis=0)
    penalties = {k: v for k, v in options.items() if k not in ("scope", "min_child_weight")}
    n_categories = np.nanmax(X, axis=0).astype(int) + 1
    n_splits = 0
    pending = [(0, 0, np.arange(len(X)))]
    while pending:
        i, depth, rows = pending.pop()
        node, here = tree[i], (X[rows], G[rows], H[rows])
        sides, least = [], []
        for f, kind in enumerate(types):
            least += [0.0] * (len(sides) - len(least))
            if kind == "c":
                column, n = here[0][:, f], n_categories[f]
                sides += category_sides(column, n, *here[1:], **limits, **penalties)
                if cat_penalty > 0 and n >= limits["max_cat_to_onehot"]:
                    of_category = [column == c for c in range(n)]
                    penalty = cat_penalty * penalty_of(of_category, here[2], noise)
                    least += [penalty] * (len(sides) - len(least))
                    sides += one_hot_sides(column, n)
                    for one in of_category:
                        least += [cat_penalty * penalty_of([one, ~one], here[2], noise)] * 2
            else:
                for cut in reference.cuts_of_distinct_values(here[0][:, [f]])[0]:
                    column = here[0][:, f].astype(np.float32)
                    sides += [
                        reference.goes_left(column, cut, to_left) for to_left in (False, True)
                    ]
        least += [0.0] * (len(sides) - len(least))
        gains = gains_of(sides, *here[1:], method, **options)
        worth = gains - least
        if node.feature is None:
            assert depth == max_depth or worth.max(initial=0) < max(1.01 * SMALLEST_GAIN, 1e-5)
            if not check_values:
                continue
            weights, _ = reference.label_weights_and_gains(
                here[1].sum(axis=0), here[2].sum(axis=0), **options
            )
            np.testing.assert_allclose(node.value, 0.3 * weights, rtol=0, atol=1e-6)
            continue
        left = node.goes_left(here[0])
        best = [
            k
            for k, side in enumerate(sides)
            if np.array_equal(side, left) and worth[k] >= worth.max() - 1e-6 * gains.max()
        ]
        assert best, f"node {i}, {node}"
        assert node.gain == pytest.approx(gains[best[0]], rel=1e-5)
        n_splits += node.right_categories is not None
        pending += [(node.left, depth + 1, rows[left]), (node.right, depth + 1, rows[~left])]
    assert n_splits > 1


def assert_same_up_to_ties(ours, theirs, X, G, H, rounding=0.0, **penalties):
    """Walk two trees from the root; a split may differ where both gain the same. Returns ties.

    Gains are rounded by `rounding` at most.
    """
    n_splits = ties = 0
    pending = [(0, 0, np.arange(len(X)))]
    while pending:
        our, their, rows = pending.pop()
        a, b = ours[our], theirs[their]
        assert (a.feature is None) == (b.feature is None)
        if a.feature is None:
            np.testing.assert_allclose(a.value, b.value, rtol=0, atol=1e-5)
            continue
        left, expected = a.goes_left(X[rows]), b.goes_left(X[rows])
        gain, expected_gain = gains_of([left, expected], G[rows], H[rows], "sumGain", **penalties)
        assert a.gain == pytest.approx(gain, rel=1e-5, abs=rounding)
        if not np.array_equal(left, expected):
            assert gain == pytest.approx(expected_gain, rel=1e-6, abs=rounding), f"{a}, not {b}"
            ties += 1
            continue
        assert rounding or a.right_categories == b.right_categories
        n_splits += a.right_categories is not None
        pending += [(a.left, b.left, rows[left]), (a.right, b.right, rows[~left])]
    assert n_splits > 0
    return ties


def make_features(sizes, n_rows=300, missing=0.15, seed=0):
    """Codes of features with these numbers of categories, some rare; 0 makes a number."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.choice(size, size=n_rows, p=rng.dirichlet(np.full(size, 0.7)))
        if size
        else rng.normal(size=n_rows).round(1)
        for size in sizes
    ]
    X = np.column_stack(columns).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, ["c" if size else "q" for size in sizes]


def make_gradients(n_rows, n_labels, silent=0.0, seed=1):
    """Gradients that no two sums of are alike; a share of them 0, as of labels not known."""
    rng = np.random.default_rng(seed)
    G = rng.normal(-0.3, 1, size=(n_rows, n_labels))
    H = rng.uniform(0.1, 1, size=G.shape)
    known = rng.random(G.shape) >= silent
    # Single precision holds them, double precision sums them.
    return [(values * known).astype(np.float32).astype(float) for values in (G, H)]


def make_labels(X, n_labels, unknown=0.0, seed=2):
    """Labels that depend on the codes."""
    rng = np.random.default_rng(seed)
    score = np.sin(np.nan_to_num(X) @ rng.normal(size=(X.shape[1], n_labels)))
    Y = (score + 0.5 * rng.normal(size=score.shape) > 0.3).astype(float)
    Y[rng.random(Y.shape) < unknown] = np.nan
    return Y


def matrix_of(X, types, Y=None, **info):
    Y = np.zeros((len(X), 1)) if Y is None else Y
    return xgb.DMatrix(X, Y, feature_types=types, enable_categorical=True, **info)


def grow_tree(params, X, types, G, H):
    """Grow one tree for given gradients."""
    matrix = matrix_of(X, types, np.zeros(G.shape))
    return xgb.train(params, matrix, 1, obj=lambda *_: (G, H))


LAYOUTS = {
    "one feature": [30],
    "pairs of categories": [2, 2, 2, 2],
    "many features": [2, 3, 4, 5, 9, 17, 30],
    "with numbers": [3, 0, 12, 0, 30],
}
LIMITS = {
    "default": {},
    "one-hot": {"max_cat_to_onehot": 100},
    "partitions": {"max_cat_to_onehot": 1},
    "short scans": {"max_cat_to_onehot": 1, "max_cat_threshold": 3},
}


@pytest.mark.parametrize("silent", [0.0, 0.4])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_same_tree_as_stock(layout, limits, missing, silent):
    X, types = make_features(layout, missing=missing, seed=len(layout))
    G, H = make_gradients(len(X), 5, silent)
    ours, stock = (grow_tree(params | limits, X, types, G, H) for params in (OURS, STOCK))
    (tree,), (expected,) = read_trees(ours), read_trees(stock)
    if not assert_same_up_to_ties(tree, expected, X, G, H):
        new, _ = make_features(layout, missing=0.3, seed=9)  # with pairs of codes not seen before
        np.testing.assert_allclose(margins([tree], new), margins([expected], new), atol=1e-5)


@pytest.mark.parametrize(
    "params",
    [
        {"lambda": 0.0},
        {"alpha": 0.5, "lambda": 2.0},
        {"max_delta_step": 0.2},
        {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 24},
        {"interaction_constraints": "[[0, 1, 2], [3, 4]]"},
        {"colsample_bynode": 0.5, "seed": 3},
        {"max_bin": 8},
    ],
    ids=lambda params: next(iter(params)),
)
def test_same_tree_as_stock_under_every_parameter(params):
    X, types = make_features(LAYOUTS["with numbers"])
    G, H = make_gradients(len(X), 4)
    ours, stock = (grow_tree(p | params, X, types, G, H) for p in (OURS, STOCK))
    penalties = {"reg_lambda" if k == "lambda" else k: v for k, v in params.items()}
    known = {k: v for k, v in penalties.items() if k in ("reg_lambda", "alpha", "max_delta_step")}
    (tree,), (expected,) = read_trees(ours), read_trees(stock)
    assert_same_up_to_ties(tree, expected, X, G, H, **known)


@pytest.mark.parametrize("orders", ["()", "(0,1,0,-1)"])
@pytest.mark.parametrize("min_child_weight", [0, 3])
@pytest.mark.parametrize("n_labels", [1, 5])
def test_same_boosters_as_stock(n_labels, min_child_weight, orders):
    X, types = make_features(LAYOUTS["with numbers"], n_rows=600)
    matrix = matrix_of(X, types, make_labels(X, n_labels))
    params = {"min_child_weight": min_child_weight, "max_depth": 4, "monotone_constraints": orders}
    ours = xgb.train(OURS | params | {"min_child_weight_scope": "mean"}, matrix, 6)
    stock = xgb.train(STOCK | params, matrix, 6)
    assert any(node.right_categories for tree in read_trees(ours) for node in tree)
    np.testing.assert_allclose(ours.predict(matrix), stock.predict(matrix), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_child_weight": 2.5, "scope": "any"},
        {"min_child_weight": 0.8, "scope": "all"},
        {"alpha": 0.4, "max_delta_step": 0.5, "reg_lambda": 0.3},
    ],
    ids=["plain", "any", "all", "clipped"],
)
@pytest.mark.parametrize(
    "limits", [LIMITS["one-hot"], LIMITS["partitions"]], ids=["one-hot", "part"]
)
@pytest.mark.parametrize("method", SPLIT_METHODS)
def test_every_split_method_takes_the_best_split(method, limits, options):
    X, types = make_features([2, 5, 7, 0], n_rows=120)
    G, H = make_gradients(len(X), 3, silent=0.2)
    params = {"scope": "min_child_weight_scope"}
    params = {params.get(k, k): v for k, v in options.items()} | {"split_method": method}
    (tree,) = read_trees(grow_tree(OURS | limits | params | {"max_depth": 4}, X, types, G, H))
    assert_best_splits(tree, X, types, G, H, method, 4, DEFAULT_LIMITS | limits, **options)


@pytest.mark.parametrize("method", SPLIT_METHODS)
def test_unknown_and_masked_labels(method):
    X, types = make_features([3, 8, 15], n_rows=150)
    Y = make_labels(X, 3, unknown=0.2)
    rng = np.random.default_rng(3)
    known = np.where(rng.random(Y.shape) < 0.2, rng.random(Y.shape), np.nan)
    X, types = np.hstack([X, known]), [*types, "q", "q", "q"]
    weight = rng.uniform(0.5, 2, size=len(X))
    params = OURS | {"split_method": method, "label_feature_begin": 3, "max_depth": 4}
    booster = xgb.train(params, matrix_of(X, types, Y, weight=weight), 1)
    G, H = reference.gradients(Y, np.zeros(Y.shape), weight, ~np.isnan(known))
    (tree,) = read_trees(booster)
    assert_best_splits(tree, X, types, G, H, method, 4, DEFAULT_LIMITS)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize("sketch_size", [1, 2, 3, 4])
def test_sketches_take_the_best_split(sketch_size, limits, missing):
    X, types = make_features([2, 5, 9, 0, 25], missing=missing, n_rows=200)
    Y = make_labels(X, 6, unknown=0.2)
    params = OURS | limits | {"sketch_size": sketch_size, "max_depth": 4, "seed": 3}
    (tree,) = read_trees(xgb.train(params, matrix_of(X, types, Y), 1))
    G, H = reference.gradients(Y, np.zeros(Y.shape))
    matrix = sketch_reference.coefficients(G, range(6), sketch_size, "projection", 3, 0)
    G, H = sketch_reference.combine(G, H, range(6), matrix)
    limits = DEFAULT_LIMITS | limits
    assert_best_splits(tree, X, types, G, H, "sumGain", 4, limits, check_values=False)


@pytest.mark.parametrize("regularised", [(1.0, 0.0), (0.0, 3.0), (0.7, 3.0)], ids=str)
@pytest.mark.parametrize("sketch_size", [0, 1, 3])
@pytest.mark.parametrize("max_list_rows", [-1, 0])
def test_penalised_and_smoothed_splits_are_the_best(max_list_rows, sketch_size, regularised):
    X, types = make_features([2, 5, 9, 0, 25], missing=0.1, n_rows=200)
    Y = make_labels(X, 5)
    cat_penalty, cat_smoothing = regularised
    params = {"cat_penalty": cat_penalty, "cat_smoothing": cat_smoothing, "max_depth": 4, "seed": 3}
    params |= {"sketch_size": sketch_size, "max_list_rows": max_list_rows}
    weight = np.full(len(X), 10.0)  # noise has the scale of weights
    (tree,) = read_trees(xgb.train(OURS | params, matrix_of(X, types, Y, weight=weight), 1))
    G, H = reference.gradients(Y, np.zeros(Y.shape), weight)
    if sketch_size:
        matrix = sketch_reference.coefficients(G, range(5), sketch_size, "projection", 3, 0)
        G, H = sketch_reference.combine(G, H, range(5), matrix)
    limits = DEFAULT_LIMITS | {"cat_smoothing": cat_smoothing}
    options = {"cat_penalty": cat_penalty, "check_values": False}
    assert_best_splits(tree, X, types, G, H, "sumGain", 4, limits, **options)


@pytest.mark.parametrize("sketch_size", [0, 1])
def test_noise_is_not_split_into_sets(sketch_size):
    """Columns of many categories that say nothing, beside one number that does.

    With a penalty, few splits are on them, each of a category that is the best of 600 by chance.
    """
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(200, size=(2000, 3)), rng.normal(size=2000)]).astype(float)
    Y = (X[:, 3:] + rng.normal(size=(2000, 4)) > 0.5).astype(float)

    def sizes(penalty):
        """Categories on the smaller side of each split."""
        params = OURS | {"sketch_size": sketch_size, "max_depth": 3, "cat_penalty": penalty}
        trees = read_trees(xgb.train(params, matrix_of(X, list("cccq"), Y), 3))
        to_right = [node.right_categories for tree in trees for node in tree]
        return [min(len(right), 200 - len(right)) for right in to_right if right is not None]

    without, penalised = sizes(0), sizes(5)
    assert min(without) > 1
    assert set(penalised) <= {1}
    assert len(penalised) < len(without) / 2


@pytest.mark.parametrize("sketch_size", [0, 1])
def test_one_category_needs_no_set(sketch_size):
    """A split of one category from 99 others gains less than two sets of 100 would have to."""
    rng = np.random.default_rng(0)
    X = rng.integers(100, size=(3000, 1)).astype(float)
    Y = (rng.random((3000, 3)) < np.where(X == 40, 0.9, 0.1)).astype(float)
    params = OURS | {"sketch_size": sketch_size, "max_depth": 1, "cat_penalty": 1.3}
    (tree,) = read_trees(xgb.train(params, matrix_of(X, ["c"], Y), 1))
    assert tree[0].right_categories == {40}
    if not sketch_size:
        G, H = reference.gradients(Y, np.zeros(Y.shape))
        noise = (G**2).sum(axis=0) / H.sum(axis=0)
        assert tree[0].gain < 1.3 * penalty_of([X[:, 0] == c for c in range(100)], H, noise)


def test_a_penalty_is_a_share_of_a_gain():
    X, types = make_features([9])
    params = OURS | {"cat_penalty": 1, "split_method": "maxWeight"}
    with pytest.raises(xgb.core.XGBoostError, match="cat_penalty=1 does not work with"):
        xgb.train(params, matrix_of(X, types, make_labels(X, 2)), 1)


SKETCHED = {
    "frequent": {"n_rows": 1000},
    "missing": {"n_rows": 1000, "missing": 0.3},
    "many": {"n_rows": 800, "missing": 0.05, "sizes": [300, 0, 40, 2, 700]},
}


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize("sketch_size", [1, 2, 3, 4])
@pytest.mark.parametrize("data", SKETCHED.values(), ids=SKETCHED.keys())
def test_the_two_searches_agree(data, sketch_size, limits):
    """A limit on weights that no weight exceeds selects the search on labels."""
    data = {"sizes": [3, 0, 12, 0, 30, 2, 150], "missing": 0.0} | data
    X, types = make_features(**data)
    Y = make_labels(X, 6)
    params = OURS | limits | {"sketch_size": sketch_size, "max_depth": 5, "seed": 3}
    matrix = matrix_of(X, types, Y)
    ours, other = (xgb.train(params | p, matrix, 1) for p in ({}, {"max_delta_step": 1e30}))
    G, H = reference.gradients(Y, np.zeros(Y.shape))
    coefficients = sketch_reference.coefficients(G, range(6), sketch_size, "projection", 3, 0)
    G, H = sketch_reference.combine(G, H, range(6), coefficients)
    (tree,), (expected,) = read_trees(ours), read_trees(other)
    assert assert_same_up_to_ties(tree, expected, X, G, H, rounding=1e-5) < 5
    predicted = 1 / (1 + np.exp(-margins([tree], X)))
    np.testing.assert_allclose(ours.predict(matrix), predicted, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("sketch_size", [1, 3])
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
def test_sketched_trees_do_not_depend_on_threads_or_storage(sketch_size, limits):
    X, types = make_features([2, 0, 3, 60, 9, 0, 300], n_rows=9000)
    Y = make_labels(X, 5)
    params = OURS | limits | {"sketch_size": sketch_size, "max_depth": 7}
    matrix = matrix_of(X, types, Y)
    expected = xgb.train(params, matrix, 4).get_dump(with_stats=True)
    as_csr = xgb.DMatrix(stored_only(X), Y, feature_types=types, enable_categorical=True)
    for other, data in (
        ({"nthread": 3}, matrix),
        ({"max_histogram_mib": 1}, matrix),
        ({}, as_csr),
    ):
        assert xgb.train(params | other, data, 4).get_dump(with_stats=True) == expected


def stored_only(X):
    """A sparse matrix that holds what is not missing, zeros included."""
    rows, columns = np.nonzero(~np.isnan(X))
    return sparse.csr_matrix((X[rows, columns], (rows, columns)), shape=X.shape)


@pytest.mark.parametrize("params", [{"colsample_bytree": 0.5}, {"colsample_bynode": 0.5}])
def test_sketches_with_drawn_columns(params):
    X, types = make_features([2, 0, 3, 60, 9, 0, 30], n_rows=500)
    matrix = matrix_of(X, types, make_labels(X, 5))
    params = OURS | params | {"sketch_size": 2, "max_depth": 4, "seed": 5}
    ours, other = (xgb.train(params | p, matrix, 3) for p in ({}, {"max_delta_step": 1e30}))
    assert any(node.right_categories for tree in read_trees(ours) for node in tree)
    np.testing.assert_allclose(ours.predict(matrix), other.predict(matrix), rtol=0, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_best_of_all_subsets(seed):
    """For one label without regularisation the order by weights holds the best of all subsets."""
    X, types = make_features([7], n_rows=60, missing=0.0, seed=seed)
    G, H = make_gradients(len(X), 1, seed=seed)
    (root, *_), *_ = read_trees(grow_tree(OURS | {"max_depth": 1, "lambda": 0}, X, types, G, H))
    sides = [
        ~np.isin(X[:, 0], subset) for size in range(1, 7) for subset in combinations(range(7), size)
    ]
    gains = gains_of(sides, G, H, "sumGain", reg_lambda=0.0)
    assert root.gain == pytest.approx(max(gains), rel=1e-5)


def train_some(n_labels=4, n_rounds=4, **params):
    X, types = make_features(LAYOUTS["with numbers"], n_rows=500)
    matrix = matrix_of(X, types, make_labels(X, n_labels))
    return xgb.train(OURS | params, matrix, n_rounds), X, types


@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("form", ["json", "ubj"])
def test_saved_models_predict(form, n_labels):
    booster, _, types = train_some(n_labels)
    new, _ = make_features(LAYOUTS["with numbers"], n_rows=200, missing=0.3, seed=4)
    new[:20, [0, 2, 4]] = 40  # a category that training has not seen
    expected = margins(read_trees(booster), new)
    loaded = xgb.Booster(model_file=booster.save_raw(form))
    assert loaded.save_raw("json") == booster.save_raw("json")
    matrix = matrix_of(new, types)
    for model in (booster, loaded):
        found = model.predict(matrix, output_margin=True).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
        in_place = model.inplace_predict(new, predict_type="margin").reshape(expected.shape)
        np.testing.assert_allclose(in_place, expected, rtol=0, atol=1e-5)
        contributions = model.predict(matrix, pred_contribs=True)
        assert np.abs(contributions[..., [0, 2, 4]]).max() > 0.01
        np.testing.assert_allclose(
            contributions.sum(axis=-1).reshape(expected.shape), expected, rtol=0, atol=1e-4
        )


def test_dump_names_the_categories():
    booster, _, _ = train_some(max_depth=2, n_rounds=1)
    (root, *_), *_ = read_trees(booster)
    names = ",".join(map(str, sorted(root.right_categories)))
    assert f"0:[f{root.feature}:{{{names}}}]" in booster.get_dump()[0]


@pytest.mark.parametrize("method", SPLIT_METHODS)
@pytest.mark.parametrize(
    "rule",
    [{}, {"min_child_weight": 2.0}, {"alpha": 1.0}, {"lambda": 0.0}],
    ids=["plain", "any", "alpha", "no lambda"],
)
@pytest.mark.usefixtures("threads")
def test_lists_and_histograms_grow_the_same_trees(rule, method):
    X, types = make_features([2, 5, 0, 40, 12], n_rows=400)
    X[:, 1][np.isnan(X[:, 1])] = 0  # most rows: they are not stored
    X[:200, 1] = 0
    matrix = matrix_of(X, types, make_labels(X, 4))
    params = OURS | rule | {"split_method": method}
    models = {
        tuple(xgb.train(params | regime, matrix, 3).get_dump(with_stats=True))
        for regime in (
            {},
            {"max_list_rows": 0},
            {"max_list_rows": 60},
            {"max_list_rows": 60, "nthread": 3},
        )
    }
    assert len(models) == 1


@pytest.mark.usefixtures("threads")
def test_threads_and_quantile_matrices_make_no_difference():
    booster, X, types = train_some()
    Y = make_labels(X, 4)
    others = [
        xgb.train(OURS | {"nthread": 3}, matrix_of(X, types, Y), 4),
        xgb.train(
            OURS,
            xgb.QuantileDMatrix(X, Y, feature_types=types, enable_categorical=True),
            4,
        ),
    ]
    assert {bytes(other.save_raw("json")) for other in others} == {bytes(booster.save_raw("json"))}


@pytest.mark.parametrize("kind", [xgb.DMatrix, xgb.ExtMemQuantileDMatrix])
def test_external_memory(kind, in_batches):
    booster, X, types = train_some()
    batches = in_batches(X, make_labels(X, 4))
    of_one_type = batches.next
    batches.next = lambda give: of_one_type(partial(give, feature_types=types))
    in_pages = xgb.train(OURS, kind(batches, enable_categorical=True), 4)
    trees, expected = read_trees(in_pages), read_trees(booster)
    assert [n.right_categories for t in trees for n in t] == [
        n.right_categories for t in expected for n in t
    ]
    np.testing.assert_allclose(margins(trees, X), margins(expected, X), rtol=0, atol=1e-6)


def test_data_frames():
    X, _ = make_features([5, 9, 0])
    names = ["red", "blue", "pink", "lime", "grey"]
    codes = np.nan_to_num(X[:, :2], nan=-1).astype(int)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical.from_codes(codes[:, 0], names),
            "code": pd.Categorical.from_codes(codes[:, 1], range(9)),
            "size": X[:, 2],
        }
    )
    booster = xgb.train(OURS, xgb.DMatrix(frame, make_labels(X, 3), enable_categorical=True), 3)
    assert booster.feature_types == ["c", "c", "float"]
    predicted = booster.predict(xgb.DMatrix(frame, enable_categorical=True))
    frame["colour"] = frame["colour"].cat.reorder_categories(names[::-1])
    np.testing.assert_array_equal(
        booster.predict(xgb.DMatrix(frame, enable_categorical=True)), predicted
    )
    loaded = xgb.Booster(model_file=booster.save_raw("ubj"))
    np.testing.assert_array_equal(loaded.inplace_predict(frame), predicted)


@pytest.mark.parametrize("code", [-1.0, 2.0**24])
def test_codes_that_are_no_categories(code):
    X, types = make_features([3, 9])
    X[7, 1] = code
    with pytest.raises(xgb.core.XGBoostError, match="Invalid categorical value detected"):
        xgb.train(OURS, matrix_of(X, types, make_labels(X, 2)), 1)


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.usefixtures("threads")
def test_without_room_sums_of_categories_are_added_up_again(limits):
    # 20 features x 30 categories x 64 labels are .3 MiB a node.
    X, types = make_features([30] * 20, n_rows=1500)
    matrix = matrix_of(X, types, make_labels(X, 60))
    params = OURS | limits | {"max_depth": 6, "colsample_bynode": 0.7, "seed": 2}
    roomy = xgb.train(params, matrix, 2).get_dump(with_stats=True)
    for narrow in ({"max_histogram_mib": 1}, {"nthread": 2}):
        assert xgb.train(params | narrow, matrix, 2).get_dump(with_stats=True) == roomy
