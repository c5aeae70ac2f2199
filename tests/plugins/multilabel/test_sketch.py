"""Trees that are searched on a sketch of the labels, and trees for groups of labels.

The reference draws the same random numbers (`tests.reference.sketch`) and must find the same splits
and leaf values. The search on labels is a second oracle for the search on one to four numbers per
row; a limit on weights that no weight exceeds selects it.
"""

import json
import re

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.reference import boosting as reference
from tests.reference import sketch as sketch_reference
from tests.reference.tree_comparison import compare_trees, read_trees
from tests.some_cases import one_in
from xdcc.boosting import MultiLabelXGBClassifier

MAX_DEPTH, LEARNING_RATE, SEED = 3, 0.3, 11
METHODS = ["projection", "sampling", "top"]
GENERAL = {"max_delta_step": 1e30}


def make_data(kind="dense", n_rows=400, n_features=12, n_labels=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    score = X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n_rows, n_labels))
    Y = np.where(score > 1, 1.0, 0.0)
    match kind:
        case "missing":
            X[rng.random(X.shape) < 0.3] = np.nan
        case "zeros":  # sparse features with many bins, dense ones beside them
            X[:, 2:] *= rng.random((n_rows, n_features - 2)) < 0.07
        case "binary":
            X = (X > 0.8).astype(np.float32)
        case "mixed":
            X[:, ::2] *= rng.random((n_rows, (n_features + 1) // 2)) < 0.3
            X[rng.random(n_rows) < 0.2, 1] = np.nan
        case "csr":
            X[:, :3] = X[:, :3] > 0.5
            X = sparse.csr_matrix(X * (rng.random(X.shape) < 0.2))
        case "wide":  # more features than most rows of a node have values other than 0
            # No value is positive: the engines round the score of a mirrored split differently.
            wide = -np.tile(np.abs(X), 20) * (rng.random((n_rows, 20 * n_features)) < 0.06)
            wide[:, ::3] = np.round(wide[:, ::3])
            wide[:, 1::10] = np.where(wide[:, 1::10] == 0, np.nan, wide[:, 1::10])
            X = np.hstack((X[:, :2], wide))
        case "unknown":
            Y[rng.random(Y.shape) < 0.5] = np.nan
            Y[: n_rows // 4] = np.nan
    return X, Y


KINDS = ["dense", "missing", "zeros", "binary", "mixed", "csr", "wide", "unknown"]


def train(X, Y, n_rounds=4, weight=None, **params):
    params = {"objective": "multilabel:logistic", "max_depth": 5, "nthread": 1} | params
    return xgb.train(params, xgb.DMatrix(X, Y, weight=weight, nthread=1), n_rounds)


def covers_of(booster):
    dumped = "".join(booster.get_dump(with_stats=True))
    return [float(cover) for cover in re.findall(r"cover=([-+.e\d]+)", dumped)]


def dump(*data, **params):
    return train(*data, **params).get_dump(with_stats=True)


def splits_of(dumped):
    return [re.sub(r"(gain|cover|leaf)=(\[[^\]]*\]|[^\n,]*)", "", tree) for tree in dumped]


def is_open(grad, k):
    """Whether rounding decides which labels are the k with the greatest gradients."""
    norms = np.sort(np.sum(grad**2, axis=0))[::-1]
    return 0 < k < len(norms) and norms[k - 1] - norms[k] < 1e-6 * norms[k]


def check_against_reference(X, Y, n_rounds=2, weight=None, **params):
    """Compare every tree; return the number of equal nodes."""
    booster = train(
        X,
        Y,
        n_rounds,
        weight,
        max_depth=MAX_DEPTH,
        learning_rate=LEARNING_RATE,
        base_score=0.5,
        seed=SEED,
        **params,
    )
    method, k = params.get("sketch_method", "projection"), params.get("sketch_size", 0)
    per_tree = params.get("labels_per_tree", 0)
    cuts = reference.cuts_of_distinct_values(X)
    margin, trees, equal_nodes = np.zeros(Y.shape), read_trees(booster), 0
    for i in range(n_rounds):
        grad, hess = reference.gradients(Y, margin, weight)
        groups = sketch_reference.draw_groups(SEED, i, Y.shape[1], per_tree)
        if method == "top" and i > 0 and any(is_open(grad[:, labels], k) for labels in groups):
            return equal_nodes
        for g, labels in enumerate(groups):
            matrix = sketch_reference.coefficients(grad, labels, k, method, SEED, i, group=g)
            expected = sketch_reference.grow_sketched_tree(
                X, grad, hess, labels, matrix, cuts, MAX_DEPTH, LEARNING_RATE
            )
            combined = sketch_reference.combine(grad, hess, labels, matrix)
            tree = trees[i * len(groups) + g]
            equal_nodes += compare_trees(tree, expected, X, *combined, "sumGain").equal_nodes
        margin = booster.predict(
            xgb.DMatrix(X), output_margin=True, iteration_range=(0, i + 1)
        ).reshape(Y.shape)
    assert len(trees) == n_rounds * len(groups)
    return equal_nodes


@pytest.mark.parametrize(
    ("kind", "sketch_size", "method"),
    one_in(3, ["dense", "missing", "zeros", "unknown"], [1, 2, 3, 4, 6], METHODS),
)
def test_agrees_with_the_reference(kind, sketch_size, method):
    X, Y = make_data(kind, n_rows=60, n_features=5)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=60)
    n = check_against_reference(X, Y, weight=weight, sketch_size=sketch_size, sketch_method=method)
    assert n > 2


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n_rows=st.integers(1, 40),
    n_labels=st.integers(2, 9),
    sketch_size=st.integers(0, 5),
    labels_per_tree=st.integers(0, 5),
    method=st.sampled_from(METHODS),
    few_values=st.booleans(),
)
@example(34, 3, 8, 1, 0, "top", False)  # labels whose gradients are equal but for rounding
@example(16, 4, 4, 1, 0, "top", False)
def test_agrees_with_the_reference_on_any_data(
    seed, n_rows, n_labels, sketch_size, labels_per_tree, method, few_values
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    X = np.round(X) if few_values else X
    X[rng.random(X.shape) < 0.2] = np.nan
    Y = (rng.random((n_rows, n_labels)) < 0.4).astype(float)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    check_against_reference(
        X,
        Y,
        sketch_size=sketch_size,
        sketch_method=method,
        labels_per_tree=labels_per_tree,
    )


def test_gradients_combined_by_hand():
    # At a margin of 0 a gradient is p - y = 1/2 or -1/2, and a Hessian 1/4.
    grad, hess = reference.gradients([[1, 0, np.nan], [0, 0, 1]], np.zeros((2, 3)))
    matrix = np.array([[2.0, 0.0], [1.0, 1.0], [-1.0, 3.0]])
    combined = sketch_reference.combine(grad, hess, [0, 1, 2], matrix)
    np.testing.assert_allclose(combined[0], [[-0.5, 0.5], [2.0, -1.0]])
    np.testing.assert_allclose(combined[1], [[5 / 4, 1 / 4], [3 / 2, 5 / 2]])


@pytest.mark.parametrize(
    ("shape", "sketch_size", "weighted", "drawn", "n_groups"),
    one_in(
        3,
        [(700, 7), (61, 70), (90, 300), (5, 5000)],
        [1, 3, 5],
        {"plain": False, "weighted": True},
        {"all rows": {}, "drawn": {"subsample": 0.6, "seed": 4}},
        [1, 2, 3],
    ),
)
def test_derived_gradients_are_those_in_memory(shape, sketch_size, weighted, drawn, n_groups):
    """Weights of labels, here all 1, ask for gradients in memory."""
    n_rows, n_labels = shape
    X, Y = make_data("unknown", n_rows, n_labels=n_labels)
    weight = np.random.default_rng(1).uniform(0, 2, size=n_rows) if weighted else None
    params = {"sketch_size": sketch_size, "scale_pos_weight": 3 if weighted else 1} | drawn
    if n_groups > 1:
        params["labels_per_tree"] = -(-n_labels // n_groups)
    derived = train(X, Y, weight=weight, **params)
    in_memory = train(X, Y, weight=weight, **params, label_weight=[1] * n_labels)
    assert splits_of(derived.get_dump()) == splits_of(in_memory.get_dump())
    for tree, other in zip(read_trees(derived), read_trees(in_memory), strict=True):
        np.testing.assert_allclose(tree.leaf_value, other.leaf_value, rtol=1e-5, atol=1e-9)


def test_derived_gradients_follow_labels_and_margins():
    """The updater notices changes between rounds: of labels, parameters, the objective."""
    X, Y = make_data(n_rows=200)
    derived, in_memory = [], []
    for boosters, params in (derived, {}), (in_memory, {"label_weight": [1] * Y.shape[1]}):
        matrix = xgb.DMatrix(X, Y)
        params |= {"objective": "multilabel:logistic", "sketch_size": 1}
        booster = xgb.Booster(params, [matrix])
        for i in range(8):
            if i == 2:
                matrix.set_label(1 - Y)
            if i == 6:
                booster.set_param("sketch_size", 2)
            if i == 4:
                grad = booster.predict(matrix) - Y
                booster.boost(matrix, i, grad=grad, hess=np.ones(Y.shape))
            else:
                booster.update(matrix, i)
            boosters.append(booster.predict(matrix))
            fresh = booster.predict(xgb.DMatrix(X))
            np.testing.assert_allclose(boosters[-1], fresh, rtol=1e-5)
    np.testing.assert_allclose(derived, in_memory, rtol=1e-5)


def test_one_split_by_hand():
    """Two labels, one sampled: the split suits it, the leaves have values for both."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    Y = np.c_[X[:, 0], [1.0, 0.0, 0.0, 0.0]]  # label 0 is feature 0
    booster = train(
        X,
        Y,
        1,
        sketch_size=1,
        sketch_method="top",
        max_depth=1,
        learning_rate=1.0,
        base_score=0.5,
        reg_lambda=1.0,
    )
    (tree,) = read_trees(booster)
    assert tree.feature[0] == 0
    # Left: label 0 has G = 1, label 1 has G = 0; H = 1/2 each, so w = -G / (1/2 + 1).
    np.testing.assert_allclose(tree.leaf_value[1:], [[-2 / 3, 0.0], [2 / 3, -2 / 3]], rtol=1e-6)


@pytest.mark.parametrize(("kind", "sketch_size", "method"), one_in(3, KINDS, [1, 2, 3, 4], METHODS))
def test_fast_search_finds_the_splits_of_the_general_engine(kind, sketch_size, method):
    X, Y = make_data(kind)
    params = {"sketch_size": sketch_size, "sketch_method": method}
    fast = dump(X, Y, **params)
    general = dump(X, Y, **params, **GENERAL)
    assert sum(tree.count("leaf") for tree in fast) > 40
    assert splits_of(fast) == splits_of(general)


@pytest.mark.parametrize("max_bin", [255, 310, 400])
@pytest.mark.parametrize("kind", KINDS)
def test_small_nodes_have_the_splits_of_the_general_engine(kind, max_bin):
    """Slots of one byte, of two, and more than a small node may have."""
    X, Y = make_data(kind, n_rows=800)
    params = {"sketch_size": 1, "max_bin": max_bin, "max_depth": 9, "seed": max_bin}
    fast = dump(X, Y, **params)
    assert sum(tree.count("leaf") for tree in fast) > 100
    assert splits_of(fast) == splits_of(dump(X, Y, **params, **GENERAL))


@pytest.mark.filterwarnings("ignore")  # stock warns of a named updater
@pytest.mark.parametrize("min_child_weight", [0, 0.5, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_one_label_has_the_splits_of_the_general_engine(kind, min_child_weight):
    X, Y = make_data(kind, n_labels=1)
    for params in ({}, {"objective": "binary:logistic", "updater": "grow_multilabel_hist"}):
        if kind == "unknown" and params:
            continue  # for our own objectives
        params |= {"min_child_weight": min_child_weight}
        fast, general = train(X, Y, **params), train(X, Y, **params, **GENERAL)
        assert sum(tree.count("leaf") for tree in fast.get_dump()) > 20
        assert splits_of(fast.get_dump()) == splits_of(general.get_dump())
        for tree, other in zip(read_trees(fast), read_trees(general), strict=True):
            np.testing.assert_allclose(tree.leaf_value, other.leaf_value, rtol=0, atol=1e-6)
        covers, others = covers_of(fast), covers_of(general)
        np.testing.assert_allclose(covers, others, rtol=1e-6)
        assert min(covers) >= min_child_weight * (1 - 1e-6)
        assert fast.get_dump() != general.get_dump(), "there is one engine"


DRAWN = [
    {"sketch_size": 1},
    {"sketch_size": 2, "labels_per_tree": 3},
    {"sketch_size": 1, "labels_per_tree": 1, "colsample_bytree": 0.6, "num_parallel_tree": 2},
    {"sketch_size": 1, "labels_per_tree": 2, "colsample_bylevel": 0.7},
    {"labels_per_tree": 2, "colsample_bynode": 0.7},
]


@pytest.mark.parametrize(("kind", "params", "n_threads"), one_in(2, KINDS, DRAWN, [2, 5]))
@pytest.mark.usefixtures("threads")
def test_number_of_threads(kind, params, n_threads):
    X, Y = make_data(kind, n_rows=6000, n_features=12 if kind == "wide" else 40)
    one = train(X, Y, 2, **params).save_raw("json")
    booster = train(X, Y, 2, **params, nthread=n_threads)
    booster.set_param({"nthread": 1})
    assert booster.save_raw("json") == one


@pytest.mark.parametrize(
    ("kind", "columns", "max_bin"), one_in(2, KINDS, [0.75, 0.5, 0.1], [16, 1000])
)
@pytest.mark.usefixtures("threads")
def test_columns_of_a_tree(kind, columns, max_bin):
    X, Y = make_data(kind, n_rows=900, n_features=12 if kind == "wide" else 40)
    params = {"sketch_size": 1, "colsample_bytree": columns, "max_bin": max_bin, "seed": 3}
    fast = dump(X, Y, **params)
    assert splits_of(fast) == splits_of(dump(X, Y, **params, **GENERAL))
    assert fast == dump(X, Y, **params, nthread=3)


@pytest.mark.parametrize(
    "params",
    [
        {"grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0},
        {"subsample": 0.5},
        {"colsample_bytree": 0.6, "colsample_bynode": 0.5},
        {"interaction_constraints": "[[0, 1, 2], [3, 4, 5, 6]]"},
        {"monotone_constraints": "(1,-1,0,1)"},
        {"num_parallel_tree": 3, "subsample": 0.7},
        {"gamma": 0.5, "reg_lambda": 0.01},
        {"max_bin": 4},
        {"max_bin": 1000},
        {"max_histogram_mib": 1, "max_depth": 8},
        {"max_depth": 1},
    ],
)
@pytest.mark.usefixtures("threads")
def test_other_parameters(params):
    X, Y = make_data("missing", n_rows=900)
    params = {"sketch_size": 2, "seed": 3} | params
    fast = dump(X, Y, **params)
    assert splits_of(fast) == splits_of(dump(X, Y, **params, **GENERAL))
    assert fast == dump(X, Y, **params, nthread=3)


@pytest.mark.parametrize(
    "params", [{"sketch_size": 7}, {"sketch_size": 100}, {"labels_per_tree": 7}]
)
@pytest.mark.parametrize("method", METHODS)
def test_as_many_combinations_as_labels_are_the_labels(params, method):
    X, Y = make_data()
    exact = train(X, Y).save_raw("json")
    assert train(X, Y, **params, sketch_method=method).save_raw("json") == exact


def test_one_label():
    X, Y = make_data(n_labels=1)
    exact = train(X, Y).save_raw("json")
    assert train(X, Y, sketch_size=1, labels_per_tree=1).save_raw("json") == exact


def test_masked_labels_do_not_count():
    """A label that is known as a feature adds nothing to the search and has no leaf values."""
    X, Y = make_data(n_labels=4)
    known = np.where(np.arange(4) < 2, Y, np.nan)
    X = np.hstack([X, known])
    for params in ({"sketch_size": 1}, {"sketch_size": 1, "labels_per_tree": 2}):
        other = np.where(np.arange(4) < 2, 1 - Y, Y)  # of masked labels
        params = params | {"label_feature_begin": X.shape[1] - 4}
        first, second = train(X, Y, **params), train(X, other, **params)
        assert first.get_dump() == second.get_dump()
        assert all((tree.leaf_value[:, :2] == 0).all() for tree in read_trees(first))
        assert sum((tree.leaf_value[:, 2:] != 0).sum() for tree in read_trees(first)) > 20


def test_rows_of_weight_zero_do_not_count():
    X, Y = make_data()
    weight = np.r_[np.ones(300), np.zeros(100)]
    changed = np.r_[Y[:300], 1 - Y[300:]]
    params = {"sketch_size": 2, "weight": weight, "base_score": 0.5}
    assert dump(X, Y, **params) == dump(X, changed, **params)


def test_seed_and_round_choose_the_directions():
    X, Y = make_data()
    params = {"sketch_size": 1}
    first = train(X, Y, 6, **params, seed=1)
    assert dump(X, Y, **params, seed=2) != first.get_dump(with_stats=True)[:4]
    start = train(X, Y, 3, **params, seed=1)
    matrix = xgb.DMatrix(X, Y, nthread=1)
    params = {"objective": "multilabel:logistic", "max_depth": 5, "nthread": 1, "seed": 1} | params
    resumed = xgb.train(params, matrix, 3, xgb_model=start)
    assert resumed.get_dump() == first.get_dump()


def test_model_can_be_saved_explained_and_cut(tmp_path):
    X, Y = make_data()
    for params in ({"sketch_size": 1}, {"sketch_size": 1, "labels_per_tree": 3}):
        booster = train(X, Y, 5, **params)
        booster.save_model(tmp_path / "model.json")
        matrix = xgb.DMatrix(X)
        again = xgb.Booster(model_file=tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict(matrix), booster.predict(matrix))
        contributions = booster.predict(matrix, pred_contribs=True)
        margin = booster.predict(matrix, output_margin=True)
        np.testing.assert_allclose(contributions.sum(axis=-1), margin, rtol=1e-4, atol=1e-4)
        first = booster[:2]
        assert first.num_boosted_rounds() == 2
        np.testing.assert_array_equal(
            first.predict(matrix), booster.predict(matrix, iteration_range=(0, 2))
        )


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"sketch_size": 1},
        {"sketch_size": 2, "labels_per_tree": 3},
        {"labels_per_tree": 2, "num_parallel_tree": 2, "subsample": 0.6},
        {"sketch_size": 1, "nthread": 3},
    ],
)
@pytest.mark.usefixtures("threads")
def test_margins_of_the_training_rows(params):
    X, Y = make_data()
    matrix = xgb.DMatrix(X, Y, nthread=1)
    booster = xgb.Booster({"objective": "multilabel:logistic"} | params, [matrix])
    for i in range(4):
        booster.update(matrix, i)
        kept = booster.predict(matrix, output_margin=True)
        anew = booster.predict(xgb.DMatrix(X), output_margin=True)
        np.testing.assert_allclose(kept, anew, rtol=1e-5, atol=1e-6)


def test_a_tree_that_cannot_be_grown_leaves_the_margins():
    X, Y = make_data()
    matrix = xgb.DMatrix(X, Y, nthread=1)
    params = {"objective": "multilabel:logistic", "sketch_size": 1, "labels_per_tree": 3}
    booster = xgb.train(params, matrix, 2)
    before = booster.predict(matrix, output_margin=True)
    grad = np.zeros(Y.shape)
    grad[0, sketch_reference.draw_groups(0, 2, 7, 3)[-1][0]] = np.inf  # of the last group only
    with pytest.raises(xgb.core.XGBoostError, match="infinite or not a number"):
        booster.boost(matrix, iteration=2, grad=grad, hess=np.ones(Y.shape))
    np.testing.assert_array_equal(booster.predict(matrix, output_margin=True), before)


@pytest.mark.parametrize("labels_per_tree", [1, 2, 3, 6])
def test_a_round_has_a_tree_for_every_label(labels_per_tree):
    X, Y = make_data()
    booster = train(X, Y, 3, labels_per_tree=labels_per_tree)
    n_groups = -(-7 // labels_per_tree)
    assert booster.num_boosted_rounds() == 3
    trees = read_trees(booster)
    assert len(trees) == 3 * n_groups
    for i in range(3):
        groups = sketch_reference.draw_groups(0, i, 7, labels_per_tree)
        np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(7))
        for tree, labels in zip(trees[i * n_groups : (i + 1) * n_groups], groups, strict=True):
            assert len(labels) <= labels_per_tree
            has_value = (tree.leaf_value != 0).any(axis=0)
            np.testing.assert_array_equal(np.flatnonzero(has_value), labels)


def test_trees_for_one_label_each_are_single_boosters():
    X, Y = make_data(n_labels=3)
    together = train(X, Y, 4, labels_per_tree=1, base_score=0.5)
    alone = [train(X, Y[:, j], 4, base_score=0.5) for j in range(3)]
    matrix = xgb.DMatrix(X)
    expected = np.stack([booster.predict(matrix) for booster in alone], axis=1)
    np.testing.assert_allclose(together.predict(matrix), expected, rtol=1e-5)


def test_early_stopping_counts_rounds():
    X, Y = make_data(n_rows=300)
    matrix, held_out = xgb.DMatrix(X[:150], Y[:150]), xgb.DMatrix(X[150:], Y[150:])
    result = {}
    booster = xgb.train(
        {"objective": "multilabel:logistic", "labels_per_tree": 2, "learning_rate": 1.0},
        matrix,
        100,
        evals=[(held_out, "held_out")],
        early_stopping_rounds=3,
        evals_result=result,
        verbose_eval=False,
    )
    losses = result["held_out"]["logloss"]
    assert booster.best_iteration == int(np.argmin(losses))
    assert booster.num_boosted_rounds() == len(losses) == booster.best_iteration + 4
    P = booster.predict(held_out, iteration_range=(0, booster.best_iteration + 1))
    loss = -np.mean(np.log(np.where(Y[150:] == 1, P, 1 - P)))
    assert loss == pytest.approx(min(losses), rel=1e-5)


def test_one_direction_is_as_good_as_all_labels():
    """Mean held-out log-loss over seeds; one direction regularises (error rate below 1e-3)."""
    X, Y = make_data(n_rows=2000, n_features=10, n_labels=8)

    def loss(**params):
        P = train(X[:1000], Y[:1000], 40, learning_rate=0.1, **params).predict(
            xgb.DMatrix(X[1000:])
        )
        return -np.mean(np.log(np.where(Y[1000:] == 1, P, 1 - P)))

    sketched = [loss(sketch_size=2, seed=seed) for seed in range(5)]
    base = -np.mean(Y * np.log(Y.mean(axis=0)) + (1 - Y) * np.log(1 - Y.mean(axis=0)))
    exact = loss()
    # Sketches reach at least 90 % of the improvement over a constant that all labels give.
    assert base - np.mean(sketched) > 0.9 * (base - exact)


def test_estimator():
    X, Y = make_data()
    model = MultiLabelXGBClassifier(n_estimators=5, sketch_size=1, random_state=0).fit(X, Y)
    again = MultiLabelXGBClassifier(n_estimators=5, sketch_size=1, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    exact = MultiLabelXGBClassifier(n_estimators=5, random_state=0).fit(X, Y)
    assert not np.array_equal(model.predict_proba(X), exact.predict_proba(X))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"sketch_size": -1}, "value -1 for Parameter sketch_size"),
        ({"labels_per_tree": -2}, "value -2 for Parameter labels_per_tree"),
        ({"sketch_method": "hash"}, "Invalid Input: 'hash', valid values are: {'projection'"),
        (
            {"sketch_size": 1, "split_method": "maxGain"},
            "split_method=`maxGain` does not work with sketch_size=1",
        ),
        (
            {"sketch_size": 2, "sketch_method": "sampling", "objective": "multilabel:sumWeight"},
            "split_method=`sumWeight` does not work with sketch_size=2",
        ),
    ],
)
def test_bad_parameters(params, message):
    X, Y = make_data(n_rows=20)
    with pytest.raises(xgb.core.XGBoostError, match=message):
        train(X, Y, 1, **params)


@pytest.mark.parametrize(
    "params", [{"sketch_size": 1}, {"labels_per_tree": 1}, {"sketch_size": 1, "labels_per_tree": 1}]
)
def test_objective_without_gradients_per_label(params):
    X, Y = make_data(n_rows=20)
    with pytest.raises(xgb.core.XGBoostError, match="need the gradients of all labels at once"):
        train(
            X,
            Y,
            1,
            **params,
            objective="binary:logistic",
            updater="grow_multilabel_hist",
            multi_strategy="one_output_per_tree",
            verbosity=0,
        )


def test_top_labels_with_any_split_method():
    X, Y = make_data()
    for method in ("maxGain", "sumWeight"):
        params = {"split_method": method, "sketch_method": "top"}
        assert dump(X, Y, **params, sketch_size=3) != dump(X, Y, **params)


@pytest.mark.parametrize("sketch_size", [1, 2])
def test_infinite_gradients(sketch_size):
    X, Y = make_data(n_rows=20)
    matrix = xgb.DMatrix(X, Y)
    matrix.set_base_margin(np.full(Y.shape, np.nan))
    params = {"objective": "multilabel:logistic", "sketch_size": sketch_size}
    with pytest.raises(xgb.core.XGBoostError, match="A gradient is infinite or not a number"):
        xgb.train(params, matrix, 1)


def test_external_memory(in_batches):
    """The search on labels takes over where the search on sketches cannot."""
    X, Y = make_data(n_labels=3)
    params = {"objective": "multilabel:logistic", "sketch_size": 1, "nthread": 1, "max_depth": 4}
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y))
    paged = xgb.train(params, pages, 3)
    assert len(json.loads(paged.save_raw("json"))["learner"]["gradient_booster"]) > 0
    assert splits_of(paged.get_dump()) == splits_of(
        xgb.train(params | GENERAL, pages, 3).get_dump()
    )


class Reduced(xgb.objective.TreeObjective):
    """Logistic loss, with splits searched on the sums of neighbouring labels."""

    def __call__(self, iteration, y_pred, dtrain):
        Y = dtrain.get_label().reshape(y_pred.shape)
        p = 1 / (1 + np.exp(-y_pred))
        return p - Y, p * (1 - p)

    def split_grad(self, iteration, grad, hess):
        return [
            np.stack([a[:, :3].sum(axis=1), a[:, 3:].sum(axis=1)], axis=1) for a in (grad, hess)
        ]


@pytest.mark.parametrize("params", [{}, {"subsample": 0.5, "seed": 2}])
@pytest.mark.parametrize("kind", ["dense", "missing", "mixed"])
def test_reduced_gradients_of_a_custom_objective(kind, params):
    """The trees of XGBoost's own updater, for the same reduced gradients."""
    X, Y = make_data(kind, n_labels=6)
    matrix = xgb.DMatrix(X, Y, nthread=1)
    params = {
        "multi_strategy": "multi_output_tree",
        "tree_method": "hist",
        "min_child_weight": 0,
        "max_depth": 4,
        "base_score": 0.0,
        "nthread": 1,
        "verbosity": 0,
        **params,
    }
    stock = xgb.train(params, matrix, 4, obj=Reduced())
    ours = xgb.train(params | {"updater": "grow_multilabel_hist"}, matrix, 4, obj=Reduced())
    assert splits_of(ours.get_dump()) == splits_of(stock.get_dump())
    np.testing.assert_allclose(ours.predict(matrix), stock.predict(matrix), rtol=1e-4, atol=1e-5)
    params |= {"updater": "grow_multilabel_hist", "sketch_size": 1}
    with pytest.raises(xgb.core.XGBoostError, match="with reduced gradients, which are a sketch"):
        xgb.train(params, matrix, 1, obj=Reduced())
