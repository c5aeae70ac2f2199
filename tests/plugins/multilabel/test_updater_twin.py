"""The native updater grows the trees of its NumPy twin, for every split method and option.

Each tree is compared on its own: the twin starts from the margin that the booster itself has
predicted before it, so that a tie in one tree does not end the comparison of the next.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xdcc.boosting import reference
from xdcc.boosting.reference import SCOPES, SPLIT_METHODS
from xdcc.boosting.tree_comparison import compare_trees, read_trees

xgb = pytest.importorskip("xgboost")
pytestmark = pytest.mark.skipif(
    "XDCC_MULTILABEL" not in xgb.build_info(),
    reason="this xgboost has no multilabel plugin: pip install ./third_party/xgboost",
)

N_ROUNDS, MAX_DEPTH, LEARNING_RATE = 2, 3, 0.3


@dataclass(frozen=True)
class Case:
    """Training data, with the label features (if any) as the last columns of X."""

    X: np.ndarray
    Y: np.ndarray
    weight: np.ndarray | None
    has_label_features: bool

    @property
    def label_feature_begin(self) -> int:
        return self.X.shape[1] - self.Y.shape[1]

    @property
    def masked(self) -> np.ndarray | None:
        if not self.has_label_features:
            return None
        return ~np.isnan(self.X[:, self.label_feature_begin :])


@st.composite
def cases(draw):
    # Entries come from a seeded generator: arrays that hypothesis draws are mostly constant.
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    n_labels = draw(st.integers(1, 4))
    missing_share, unknown_share = (draw(st.sampled_from([0, 0.3])) for _ in range(2))
    values = draw(st.sampled_from([[0.0, 1.0], [-2, -0.5, 0, 1, 3], rng.normal(size=50)]))

    X = rng.choice(values, size=(n_rows, n_features))
    X[rng.random(X.shape) < missing_share] = np.nan
    Y = rng.integers(0, 2, size=(n_rows, n_labels)).astype(np.float64)
    Y[rng.random(Y.shape) < unknown_share] = np.nan
    weight = rng.choice([0.5, 1, 2, 3], size=n_rows) if draw(st.booleans()) else None
    has_label_features = draw(st.booleans())
    if has_label_features:
        known_labels = rng.choice([0.1, 0.6, 0.9, np.nan], size=Y.shape, p=[0.1, 0.1, 0.1, 0.7])
        X = np.hstack([X, known_labels])
    return Case(X, Y, weight, has_label_features)


def regularisations():
    # Values that sums of the first round's Hessians, multiples of 1/8, do not hit.
    return st.fixed_dictionaries(
        {
            "reg_lambda": st.sampled_from([0, 0.4, 1]),
            "alpha": st.sampled_from([0, 0.3]),
            "max_delta_step": st.sampled_from([0, 0.35]),
            "min_child_weight": st.sampled_from([0, 0.3, 0.8, 1.7]),
            "gamma": st.sampled_from([0, 0.21]),
        }
    )


def check(
    case: Case,
    method: str,
    scope: str,
    regularisation: dict[str, float],
    *max_list_rows: int,
) -> int:
    """Compare every tree of boosters with the twin; return the least number of equal nodes.

    There is a booster for each `max_list_rows`. The twin grows a tree once from the same margin.
    """
    params: dict[str, Any] = {
        "objective": "multilabel:logistic",
        "split_method": method,
        "min_child_weight_scope": scope,
        "max_bin": 256,
        "max_depth": MAX_DEPTH,
        "learning_rate": LEARNING_RATE,
        "base_score": 0.5,
        "nthread": 1,
        **regularisation,
    }
    if case.has_label_features:
        params["label_feature_begin"] = case.label_feature_begin
    dtrain = xgb.DMatrix(case.X, case.Y, weight=case.weight)
    cuts = reference.cuts_of_distinct_values(case.X)
    options = {"scope": scope, **regularisation}
    grown: dict[bytes, Any] = {}
    equal_nodes = []
    for rows in max_list_rows:
        booster = xgb.train(params | {"max_list_rows": rows}, dtrain, num_boost_round=N_ROUNDS)
        margin = np.zeros(case.Y.shape)
        trees = read_trees(booster)
        assert len(trees) == N_ROUNDS
        equal_nodes.append(0)
        for i, tree in enumerate(trees):
            grad, hess = reference.gradients(case.Y, margin, case.weight, case.masked)
            start = margin.tobytes()
            if start not in grown:
                grown[start] = reference.grow_tree(
                    case.X, grad, hess, cuts, method, MAX_DEPTH, LEARNING_RATE, **options
                )
            compared = compare_trees(tree, grown[start], case.X, grad, hess, method, **options)
            equal_nodes[-1] += compared.equal_nodes
            margin = booster.predict(dtrain, output_margin=True, iteration_range=(0, i + 1))
            margin = margin.reshape(case.Y.shape)
    return min(equal_nodes)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("method", SPLIT_METHODS)
@settings(max_examples=15, deadline=None)
@given(
    case=cases(),
    regularisation=regularisations(),
    max_list_rows=st.sampled_from([-1, 0, 9]),  # lists, histograms, and from these to lists
)
def test_agrees_with_the_twin(method, scope, case, regularisation, max_list_rows):
    check(case, method, scope, regularisation, max_list_rows)


@pytest.mark.parametrize("has_label_features", [False, True])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("method", SPLIT_METHODS)
def test_agrees_with_the_twin_all_the_way_down(method, scope, has_label_features):
    """On data without equal gains, so that whole trees are compared."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(70, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    Y = (rng.random((70, 3)) < [0.2, 0.5, 0.6]).astype(np.float64)
    Y[rng.random(Y.shape) < 0.1] = np.nan
    if has_label_features:
        known = np.where(rng.random(Y.shape) < 0.2, rng.random(Y.shape), np.nan)
        X = np.hstack([X, known])
    case = Case(X, Y, rng.uniform(0.5, 2, size=70), has_label_features)
    floor = {"min_child_weight": 0.5, "reg_lambda": 1}
    assert check(case, method, scope, floor, -1, 0, 25) > 10


@pytest.mark.parametrize("scope", SCOPES)
def test_splits_that_are_refused_do_not_hide_the_best_allowed_one(scope):
    """One row pulls more than all others, and may not stand alone."""
    rng = np.random.default_rng(5)
    X = np.arange(60.0).reshape(-1, 1)
    Y = (X[:, :1] > [20, 40]).astype(np.float64)
    Y[-1] = 0
    weight = np.ones(60)
    weight[-1] = 3.9  # its Hessian is .975
    case = Case(np.hstack([X, rng.normal(size=(60, 3))]), Y, weight, has_label_features=False)
    assert check(case, "sumGain", scope, {"min_child_weight": 1.0}, -1, 0) > 4
