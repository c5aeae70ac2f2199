"""Reference implementation against hand-computed numbers, numerical derivatives, stock XGBoost."""

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from tests.reference import boosting as reference
from tests.reference.boosting import SCOPES, SPLIT_METHODS
from tests.reference.tree_comparison import compare_trees, read_trees

# Table 1 of the XDCC paper: G for the predictions (.8, .2, .9, .1) of y = (1, 1, 0, 0), H + ε = 1.
PAPER_G = [-0.2, -0.8, 0.9, 0.1]
PAPER_SCORES = {
    "sumGain": 1.5,
    "maxGain": 0.81,
    "sumWeight": 0.0,
    "maxWeight": 0.8,
    "sumAbsG": 2.0,
    "maxAbsG": 0.9,
}

# Four rows of one feature and two labels at p = 1/2, so that g = ±1/2 and h = 1/4.
TINY_X = np.array([[1.0], [2.0], [3.0], [np.nan]])
TINY_Y = np.array([[1, 1], [1, 0], [0, 0], [0, 0]])
TINY_GRAD, TINY_HESS = reference.gradients(TINY_Y, np.zeros((4, 2)))
# With λ = 1, the node's leaf values are (0, -1/2) and its gains (0, 1/2). Splitting at x < 2 with
# missing right leaves row 0 with (2/5, 2/5) and (1/5, 1/5), the others with (-2/7, -6/7) and
# (1/7, 9/7); x < 3 halves the rows: (2/3, 0) and (2/3, 0), (-2/3, -2/3) and (2/3, 2/3).
TINY_GAINS = {
    "sumGain": (2 / 5 + 10 / 7 - 1 / 2, 2 / 3 + 4 / 3 - 1 / 2),
    "maxGain": (1 / 5 + 9 / 7 - 1 / 2, 2 / 3 + 2 / 3 - 1 / 2),
    "sumWeight": (4 / 5 - 8 / 7 + 1 / 2, 2 / 3 - 4 / 3 + 1 / 2),
    "maxWeight": (2 / 5 - 2 / 7 - 0, 2 / 3 - 2 / 3 - 0),
    "sumAbsG": (4 / 5 + 8 / 7 - 1 / 2, 2 / 3 + 4 / 3 - 1 / 2),
    "maxAbsG": (2 / 5 + 6 / 7 - 1 / 2, 2 / 3 + 2 / 3 - 1 / 2),
}


def random_rows(seed, n_rows=60, n_features=4, n_labels=3):
    """Features with ties and missing values, labels and integer weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    Y = rng.random((n_rows, n_labels)) < 0.4
    return X, Y.astype(np.float64), rng.integers(1, 4, size=n_rows).astype(np.float64)


class TestScores:
    @pytest.mark.parametrize("method", SPLIT_METHODS)
    @pytest.mark.parametrize("H", [0.25, 1.0])
    def test_table_1_of_the_paper(self, method, H):
        score = reference.node_score(PAPER_G, [H] * 4, method, reg_lambda=1 - H)
        assert score == pytest.approx(PAPER_SCORES[method])

    def test_alpha_shrinks_the_gradient(self):
        # soft((-3, 2, .5), 1) = (-2, 1, 0), and H + λ = 2.
        weights, gains = reference.label_weights_and_gains([-3, 2, 0.5], [1, 1, 1], alpha=1)
        assert weights == pytest.approx([1, -1 / 2, 0])
        assert gains == pytest.approx([2, 1 / 2, 0])

    def test_max_delta_step_clips_and_lowers_the_gain(self):
        # -3/2 is clipped to -1/2: the gain is -(2·3·(-1/2) + 2·1/4) = 5/2 instead of 9/2.
        weights, gains = reference.label_weights_and_gains([3, -0.5], [1, 1], max_delta_step=0.5)
        assert weights == pytest.approx([-1 / 2, 1 / 4])
        assert gains == pytest.approx([5 / 2, 1 / 8])

    def test_alpha_and_max_delta_step_together(self):
        # soft(3, 1)/2 = 1 is clipped to -1/2: -(2·3·(-1/2) + 2·1/4 + 2·1·1/2) = 3/2.
        weights, gains = reference.label_weights_and_gains([3], [1], alpha=1, max_delta_step=0.5)
        assert (weights.item(), gains.item()) == pytest.approx((-1 / 2, 3 / 2))

    @pytest.mark.parametrize(
        ("scope", "expected"), [("any", [0, 1, 0]), ("all", [0, 1, 0]), ("mean", [1 / 2, 1, 0])]
    )
    def test_min_child_weight_silences_light_labels(self, scope, expected):
        weights, _ = reference.label_weights_and_gains(
            [-0.75, -2, -1], [0.5, 1, 0], min_child_weight=1, scope=scope
        )
        assert weights == pytest.approx(expected)

    @pytest.mark.parametrize(("method", "expected"), [("maxWeight", 0), ("sumWeight", -0.5)])
    def test_a_silent_label_counts_0_in_the_maximum(self, method, expected):
        assert reference.node_score([1, 0], [1, 0], method) == expected

    @pytest.mark.parametrize(
        ("H_right", "scope", "allowed"),
        [
            ([2, 0.5], "any", True),
            ([0.5, 0.5], "any", False),
            ([2, 0.5], "all", False),
            ([1, 1], "all", True),
            ([1.5, 0.5], "mean", True),
            ([1, 0.5], "mean", False),
        ],
    )
    def test_split_allowed_by_min_child_weight_1(self, H_right, scope, allowed):
        H_left = [5, 5]
        for H in [(H_left, H_right), (H_right, H_left)]:
            assert reference.split_allowed(*H, min_child_weight=1, scope=scope) == allowed

    @pytest.mark.parametrize("scope", SCOPES)
    def test_a_child_without_hessian_is_never_allowed(self, scope):
        assert not reference.split_allowed([1, 1], [0, 0], scope=scope)
        assert reference.split_allowed([1, 1], [0, 0.1], scope=scope)

    def test_unknown_names_are_refused(self):
        with pytest.raises(ValueError, match="'meanGain' must be one of sumGain, maxGain"):
            reference.node_score(PAPER_G, [1] * 4, "meanGain")
        with pytest.raises(ValueError, match="'some' must be one of any, all, mean"):
            reference.node_score(PAPER_G, [1] * 4, "sumGain", scope="some")
        with pytest.raises(ValueError, match="'some' must be one of any, all, mean"):
            reference.split_allowed([1], [1], scope="some")


class TestGradients:
    def test_numerical_derivatives(self):
        rng = np.random.default_rng(0)
        Y, weight = rng.integers(0, 2, size=(5, 3)), rng.uniform(0.5, 2, size=5)
        margin, step = rng.normal(size=(5, 3)), 1e-4

        def loss(z):
            return -weight[:, None] * (Y * np.log(expit(z)) + (1 - Y) * np.log(expit(-z)))

        below, here, above = loss(margin - step), loss(margin), loss(margin + step)
        grad, hess = reference.gradients(Y, margin, weight)
        assert grad == pytest.approx((above - below) / (2 * step), abs=1e-7)
        assert hess == pytest.approx((above - 2 * here + below) / step**2, abs=1e-6)

    def test_unknown_and_masked_labels_are_silent(self):
        grad, hess = reference.gradients(
            [[1, np.nan, 1]], [[0, 0, 0]], masked=[[False, False, True]]
        )
        assert grad.tolist() == [[-0.5, 0, 0]]
        assert hess.tolist() == [[0.25, 0, 0]]


class TestTree:
    def test_cuts_of_distinct_values(self):
        X = [[2, np.nan, 7], [0.5, np.nan, 7], [2, np.nan, np.nan], [-1, np.nan, 7]]
        first, second, third = reference.cuts_of_distinct_values(X)
        assert first[:-1].tolist() == [0.5, 2]
        assert first[-1] > 2
        assert second.tolist() == []
        assert (len(third), third[0] > 7) == (1, True)

    @pytest.mark.parametrize("method", SPLIT_METHODS)
    def test_gains_by_hand(self, method):
        cuts = reference.cuts_of_distinct_values(TINY_X)
        candidates = reference.candidate_gains(TINY_X, TINY_GRAD, TINY_HESS, cuts, method)
        assert candidates["default_left"].tolist() == [False] * 3 + [True] * 3
        assert candidates["threshold"][[0, 1, 3, 4]].tolist() == [2, 3, 2, 3]
        assert candidates["gain"][:2] == pytest.approx(TINY_GAINS[method])
        assert candidates["gain"][-1] == -np.inf  # all rows left

    def test_tree_by_hand(self):
        tree = reference.grow_tree(
            TINY_X, TINY_GRAD, TINY_HESS, [[2, 3]], "sumGain", max_depth=1, learning_rate=0.5
        )
        assert tree.feature.tolist() == [0, -1, -1]
        assert (tree.left.tolist(), tree.right.tolist()) == ([1, -1, -1], [2, -1, -1])
        assert (tree.threshold[0], tree.default_left[0]) == (3, False)
        assert tree.gain == pytest.approx([3 / 2, 0, 0])
        assert tree.leaf_value == pytest.approx(np.array([[0, 0], [1 / 3, 0], [-1 / 3, -1 / 3]]))
        expected = [[1 / 3, 0], [1 / 3, 0], [-1 / 3, -1 / 3], [-1 / 3, -1 / 3]]
        assert tree.predict(TINY_X) == pytest.approx(np.array(expected))

    def test_split_on_missingness(self):
        tree = reference.grow_tree(
            [[1], [1], [np.nan]], [[-1], [-1], [1]], [[1], [1], [1]], [[2]], "sumGain", 1, 1.0
        )
        assert (tree.threshold[0], tree.default_left[0]) == (2, False)
        assert tree.leaf_value[1:] == pytest.approx(np.array([[2 / 3], [-1 / 2]]))

    def test_ties_go_to_the_first_feature_then_missing_right_then_the_lowest_cut(self):
        X = np.array([[0, 0, 0], [9, 0, 0], [9, 5, 5], [9, 5, 5]])
        cuts = [[], [1, 2, 5], [1, 2, 5]]
        tree = reference.grow_tree(X, TINY_GRAD, TINY_HESS, cuts, "sumGain", 1, 1.0)
        assert (tree.feature[0], tree.threshold[0], tree.default_left[0]) == (1, 1, False)

    @pytest.mark.parametrize(("gamma", "n_nodes"), [(1.5, 3), (1.5 + 1e-9, 1)])
    def test_gamma_is_the_least_gain(self, gamma, n_nodes):
        tree = reference.grow_tree(
            TINY_X, TINY_GRAD, TINY_HESS, [[3]], "sumGain", 1, 1.0, gamma=gamma
        )
        assert len(tree.feature) == n_nodes

    @pytest.mark.parametrize(("grad", "n_nodes"), [(7.0e-4, 1), (7.2e-4, 3)])
    def test_a_split_gains_more_than_1e_6(self, grad, n_nodes):
        # With H + λ = 1 in both children and G = 0 in the node, the gain is 2 grad².
        tree = reference.grow_tree(
            [[1], [2]], [[grad], [-grad]], [[0.5]] * 2, [[2]], "sumGain", 1, 1.0, reg_lambda=0.5
        )
        assert len(tree.feature) == n_nodes

    def test_features_and_cuts_are_compared_in_float32(self):
        # float32 rounds 0.7 down; it must not be smaller than a float64 cut at 0.7.
        candidates = reference.candidate_gains(
            [[0.7], [0.1]], [[1], [-1]], [[1], [1]], [np.array([0.7])], "sumGain"
        )
        assert candidates["gain"] == pytest.approx([1 / 2 + 1 / 2 - 0] * 2)

    def test_nothing_to_split(self):
        tree = reference.grow_tree(
            TINY_X, TINY_GRAD, TINY_HESS, [[]], "sumGain", max_depth=3, learning_rate=1.0
        )
        assert tree.leaf_value == pytest.approx(np.array([[0, -1 / 2]]))


class TestStockXGBoost:
    @pytest.mark.parametrize("tree_method", ["hist", "exact"])
    @pytest.mark.parametrize("seed", range(3))
    def test_one_label(self, tree_method, seed):
        X, Y, weight = random_rows(seed, n_labels=1)
        dtrain = xgb.DMatrix(X, Y, weight=weight)
        booster = xgb.train(
            stock_params(objective="binary:logistic", tree_method=tree_method), dtrain, 3
        )
        trees = reference.boost(X, Y, 3, "sumGain", 3, 0.3, base_score=0.3, sample_weight=weight)
        check_boosting(booster, dtrain, trees, X, Y, weight)

    @pytest.mark.parametrize("seed", range(3))
    def test_several_labels(self, seed):
        X, Y, weight = random_rows(seed)
        dtrain = xgb.DMatrix(X, Y, weight=weight)
        params = stock_params(objective="binary:logistic", multi_strategy="multi_output_tree")
        booster = xgb.train(params, dtrain, 3)
        trees = reference.boost(X, Y, 3, "sumGain", 3, 0.3, base_score=0.3, sample_weight=weight)
        check_boosting(booster, dtrain, trees, X, Y, weight)

    @settings(max_examples=40, deadline=None)
    @given(
        seed=st.integers(0, 2**16),
        masked_share=st.sampled_from([0, 0.3, 0.9]),
        gamma=st.sampled_from([0, 0.7]),
        reg_lambda=st.sampled_from([0.5, 1]),
        alpha=st.sampled_from([0, 0.4]),
        max_delta_step=st.sampled_from([0, 0.3]),
        min_child_weight=st.sampled_from([0, 0.9, 3.1]),
    )
    def test_any_gradients_and_regularisation(
        self, seed, masked_share, gamma, reg_lambda, alpha, max_delta_step, min_child_weight
    ):
        """One tree for given derivatives, so that labels can be masked in stock XGBoost too."""
        X, Y, _ = random_rows(seed, n_rows=25, n_features=3)
        rng = np.random.default_rng(seed)
        masked = rng.random(Y.shape) < masked_share
        grad, hess = reference.gradients(Y, rng.normal(size=Y.shape), masked=masked)
        grad, hess = grad.astype(np.float32), hess.astype(np.float32)
        common = {"alpha": alpha, "max_delta_step": max_delta_step}
        params = stock_params(
            objective="binary:logistic",
            multi_strategy="multi_output_tree",
            gamma=gamma,
            min_child_weight=min_child_weight,
            reg_lambda=reg_lambda,
            **common,
        )
        booster = xgb.train(params, xgb.DMatrix(X, Y), 1, obj=lambda *_: (grad, hess))
        ours = {"min_child_weight": min_child_weight, "reg_lambda": reg_lambda, **common}
        cuts = reference.cuts_of_distinct_values(X)
        tree = reference.grow_tree(
            X, grad, hess, cuts, "sumGain", 3, 0.3, gamma=gamma, scope="mean", **ours
        )
        (theirs,) = read_trees(booster)
        compare_trees(tree, theirs, X, grad, hess, "sumGain", gamma=gamma, scope="mean", **ours)


def stock_params(**more):
    return {
        "tree_method": "hist",
        "max_bin": 512,
        "max_depth": 3,
        "learning_rate": 0.3,
        "base_score": 0.3,
        "min_child_weight": 0,
        "nthread": 1,
        **more,
    }


def check_boosting(booster, dtrain, trees, X, Y, weight):
    """The same trees, without a tie, and the same margins as a booster of `stock_params`."""
    stock_margin = booster.predict(dtrain, output_margin=True).reshape(Y.shape)
    assert reference.predict(trees, X, base_score=0.3) == pytest.approx(stock_margin, abs=1e-5)
    margin = np.full(Y.shape, logit(0.3))
    for ours, theirs in zip(trees, read_trees(booster), strict=True):
        grad, hess = reference.gradients(Y, margin, weight)
        comparison = compare_trees(ours, theirs, X, grad, hess, "sumGain")
        margin += ours.predict(X)
        assert comparison.ties == 0
        assert comparison.equal_nodes == len(ours.feature) > 7
