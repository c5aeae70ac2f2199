"""Lists, histograms, their mixtures and any number of threads grow the same trees, bit for bit.

`max_list_rows` says up to how many rows a node keeps sorted lists, `max_histogram_mib` how much
memory histograms may take. `RULES` are the cases for which scans have loops of their own. A
`min_child_weight` below every label's Hessian changes nothing but these loops.
"""

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.reference.boosting import SPLIT_METHODS
from tests.some_cases import one_in

pytestmark = pytest.mark.skipif(
    "XDCC_MULTILABEL" not in xgb.build_info(),
    reason="this xgboost has no multilabel plugin: pip install ./third_party/xgboost",
)


def make_data(kind, n_rows=400, n_features=12, n_labels=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    score = X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n_rows, n_labels))
    Y = np.where(score > 1, 1.0, 0.0)
    match kind:
        case "missing":
            X[rng.random(X.shape) < 0.3] = np.nan
        case "zeros":  # default bins: most values are the same, some below, some above
            X[rng.random(X.shape) < 0.7] = 0
        case "binary":
            X = (X > 0.8).astype(np.float32)
        case "mixed":  # zeros beside a feature that misses values
            X[:, ::2] *= rng.random((n_rows, (n_features + 1) // 2)) < 0.3
            X[rng.random(n_rows) < 0.2, 1] = np.nan
        case "csr":
            X = sparse.csr_matrix(X * (rng.random(X.shape) < 0.3))
        case "unknown":
            Y[rng.random(Y.shape) < 0.5] = np.nan
            Y[:100] = np.nan
    return xgb.DMatrix(X, Y, nthread=1)


RULES = {
    "any": {"min_child_weight": 1.0},
    "all": {"min_child_weight": 0.4, "min_child_weight_scope": "all"},
    "mean": {"min_child_weight": 2.0, "min_child_weight_scope": "mean"},
    "alpha": {"alpha": 1.5},
    "alpha, mean": {"alpha": 0.7, "min_child_weight": 1.0, "min_child_weight_scope": "mean"},
    "clipped": {"max_delta_step": 0.4},
    "clipped, any": {"max_delta_step": 0.4, "alpha": 0.3, "min_child_weight": 2.0},
    "no lambda": {"lambda": 0.0},
    "no lambda, all": {"lambda": 0, "min_child_weight": 0.3, "min_child_weight_scope": "all"},
    "monotone": {"monotone_constraints": "(1,-1,0,1)"},
    "monotone, any": {"monotone_constraints": "(1,1)", "min_child_weight": 1.0, "alpha": 0.3},
    "monotone, no lambda": {"monotone_constraints": "(-1,0,1)", "lambda": 0, "max_delta_step": 2},
}
KINDS = ["dense", "missing", "zeros", "binary", "mixed", "csr", "unknown"]


def dump(matrix, n_rounds=4, **params):
    params = {"objective": "multilabel:logistic", "max_depth": 5, "nthread": 1} | params
    return xgb.train(params, matrix, n_rounds).get_dump(with_stats=True)


@pytest.mark.parametrize("kind", KINDS)
def test_data_with_more_rows_than_a_list_may_have(kind):
    # By default histograms down to 4096 rows; histograms are filled in several tiles of rows.
    matrix = make_data(kind, n_rows=33_000, n_features=3, n_labels=2)
    trees = dump(matrix, 2)
    assert dump(matrix, 2, max_list_rows=65_536) == trees
    assert dump(matrix, 2, max_list_rows=0) == trees


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", SPLIT_METHODS)
def test_lists_and_histograms_grow_the_same_trees(kind, method):
    matrix = make_data(kind)
    objective = f"multilabel:{method}"
    lists = dump(matrix, objective=objective)
    assert sum(tree.count("leaf") for tree in lists) > 20
    for max_list_rows in (0, 30, 200):
        assert dump(matrix, objective=objective, max_list_rows=max_list_rows) == lists


# With base_score 0.5 the first sums of Hessians hit 1, with 0.2 they miss it.
@pytest.mark.parametrize(
    ("method", "rule", "kind", "base_score"), one_in(7, SPLIT_METHODS, RULES, KINDS, [0.5, 0.2])
)
@pytest.mark.usefixtures("threads")
def test_every_rule_in_every_regime(method, rule, kind, base_score):
    matrix = make_data(kind, n_labels=3)
    params = rule | {"objective": f"multilabel:{method}", "base_score": base_score}
    lists = dump(matrix, 3, **params)
    assert sum(tree.count("leaf") for tree in lists) > 3
    for max_list_rows in (0, 60):
        assert dump(matrix, 3, **params, max_list_rows=max_list_rows) == lists
    assert dump(matrix, 3, **params, max_list_rows=60, nthread=3) == lists


@pytest.mark.parametrize("method", SPLIT_METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_floor_below_all_hessians(kind, method):
    matrix = make_data(kind)
    params = {"objective": f"multilabel:{method}", "base_score": 0.5}
    plain = dump(matrix, **params)
    assert dump(matrix, **params, min_child_weight=1e-30) == plain
    assert dump(matrix, **params, min_child_weight=1e-30, min_child_weight_scope="mean") == plain
    assert dump(matrix, **params, max_delta_step=1e30) == plain


@pytest.mark.parametrize("n_labels", [1, 2, 8, 9, 17, 33, 64, 65, 150])
def test_any_number_of_labels(n_labels):
    # Chunks of labels of every width, alone and beside others.
    matrix = make_data("zeros", n_rows=150, n_labels=n_labels)
    for method in ("sumGain", "maxWeight"):
        trees = dump(matrix, 2, min_child_weight=1e-30, split_method=method)
        for max_list_rows in (0, 1000):
            assert dump(matrix, 2, split_method=method, max_list_rows=max_list_rows) == trees
        for rule in RULES.values():
            lists = dump(matrix, 2, split_method=method, **rule)
            assert dump(matrix, 2, split_method=method, max_list_rows=0, **rule) == lists


@pytest.mark.parametrize("method", SPLIT_METHODS)
def test_few_rows_and_many_labels(method):
    # 2^21 pairs of a gradient and a Hessian are packed into 16 bits each: the whole tree's rows
    # where nodes have lists, not those of a node with 1,000 rows.
    matrix = make_data("mixed", n_rows=2400, n_features=3, n_labels=900)
    trees = dump(matrix, 2, split_method=method)
    for max_list_rows in (0, 1000):
        assert dump(matrix, 2, split_method=method, max_list_rows=max_list_rows) == trees


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_list_rows", [0, 60, 10000])
@pytest.mark.usefixtures("threads")
def test_number_of_threads(kind, max_list_rows):
    matrix = make_data(kind, n_rows=2500, n_features=40)
    one = dump(matrix, max_list_rows=max_list_rows)
    for n in (2, 5):
        assert dump(matrix, nthread=n, max_list_rows=max_list_rows) == one


@pytest.mark.parametrize("kind", ["dense", "binary"])
@pytest.mark.parametrize("max_list_rows", [0, 10000])
def test_without_room_sums_are_added_up_again(kind, max_list_rows):
    # 300 features x 256 bins x 60 labels are 37 MiB a node, more than there is room for.
    matrix = make_data(kind, n_rows=600, n_features=300, n_labels=60)
    roomy = dump(matrix, 2, max_list_rows=max_list_rows)
    assert dump(matrix, 2, max_list_rows=max_list_rows, max_histogram_mib=1) == roomy


@pytest.mark.parametrize(
    "params",
    [
        {"grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0},
        {"subsample": 0.5, "seed": 3},
        {"colsample_bytree": 0.6, "colsample_bynode": 0.5, "seed": 3},
        {"interaction_constraints": "[[0, 1, 2], [3, 4, 5, 6]]"},
        {"num_parallel_tree": 3, "subsample": 0.7},
        {"gamma": 2.0, "reg_lambda": 0.01},
        {"max_bin": 4},
        {"max_bin": 100_000},
        {"max_depth": 1},
    ],
)
def test_other_parameters(params):
    matrix = make_data("missing")
    lists = dump(matrix, **params)
    assert dump(matrix, **params, max_list_rows=0) == lists
    assert dump(matrix, **params, max_list_rows=50) == lists


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 2.0, np.nan]),
            st.sampled_from([0.0, 0.0, 0.0, -1.0, 3.0]),
            st.integers(0, 3),
        ),
        min_size=2,
        max_size=30,
    ),
    method=st.sampled_from(SPLIT_METHODS),
    rule=st.sampled_from(list(RULES.values())),
    base_score=st.sampled_from([0.5, 0.3]),
)
def test_ties(values, method, rule, base_score):
    # Few values: many splits have the same gain, and the order of preference decides.
    table = np.array(values)
    X, code = table[:, [0, 1, 1, 0]], table[:, 2].astype(int)
    matrix = xgb.DMatrix(X, np.c_[code & 1, code >> 1], nthread=1)
    params = {"split_method": method, "base_score": base_score}
    floored = dump(matrix, 2, **params, min_child_weight=1e-30)
    ruled = dump(matrix, 2, **params, **rule)
    for max_list_rows in (0, 4, 100):
        assert dump(matrix, 2, **params, max_list_rows=max_list_rows) == floored
        assert dump(matrix, 2, **params, **rule, max_list_rows=max_list_rows) == ruled


@pytest.mark.usefixtures("threads")
def test_change_of_matrix_and_of_regime_between_rounds():
    params = {"objective": "multilabel:sumGain", "nthread": 1}
    first, second = make_data("binary"), make_data("dense", n_rows=300)

    def train(max_list_rows, n_threads):
        booster = xgb.Booster(params, [first, second])
        for i, matrix in enumerate([first, second, first, first, second, second]):
            booster.set_param({"max_list_rows": max_list_rows[i % len(max_list_rows)]})
            booster.set_param({"nthread": n_threads[i % len(n_threads)]})
            booster.update(matrix, i)
        return booster.get_dump(with_stats=True)

    expected = train([10_000], [1])
    assert train([0], [1]) == expected
    assert train([0, 10_000, 100], [1]) == expected
    assert train([10_000], [1, 2, 4]) == expected


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_list_rows": 65537}, "max_list_rows"),
        ({"max_list_rows": -2}, "max_list_rows"),
        ({"max_histogram_mib": 0}, "max_histogram_mib"),
        (
            {"max_histogram_mib": 1, "max_list_rows": 0},
            r"max_histogram_mib=1 is too small: a block of features with 256 bins and 1200 labels "
            r"needs 2\.\d+ MiB for each of 1 threads. Raise it to 3, or lower max_bin or nthread",
        ),
    ],
)
def test_limits_that_cannot_be_met(params, message):
    matrix = make_data("dense", n_rows=300, n_features=1, n_labels=1200)
    with pytest.raises(xgb.core.XGBoostError, match=message):
        dump(matrix, 1, **params)


def test_more_bins_than_16_bits_can_number():
    values = np.arange(66_000, dtype=np.float32)[:, None]
    matrix = xgb.DMatrix(values, np.c_[values > 9, values > 99], nthread=1)
    with pytest.raises(xgb.core.XGBoostError, match=r"Feature 0 has too many bins\. Lower max_bin"):
        dump(matrix, 1, max_bin=70_000)
