"""compare_trees accepts ties and nothing else; read_trees reads what a booster predicts."""

from dataclasses import replace

import numpy as np
import pytest
import xgboost as xgb

from tests.reference import boosting as reference
from tests.reference.tree_comparison import Comparison, compare_trees, read_trees

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3)).round(2)
GRAD, HESS = RNG.normal(size=(40, 2)), RNG.uniform(0.1, 0.3, size=(40, 2))


def grow(x=X, cuts=None, max_depth=2):
    cuts = reference.cuts_of_distinct_values(x) if cuts is None else cuts
    return reference.grow_tree(x, GRAD, HESS, cuts, "maxGain", max_depth, learning_rate=0.3)


def compare(ours, theirs, x=X):
    return compare_trees(ours, theirs, x, GRAD, HESS, "maxGain")


@pytest.mark.parametrize("n_labels", [1, 3])
def test_read_trees_predict_as_the_booster(n_labels):
    Y = RNG.integers(0, 2, size=(40, n_labels))
    x = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    dtrain = xgb.DMatrix(x, Y)
    params = {"objective": "binary:logistic", "base_score": 0.4, "max_depth": 3}
    booster = xgb.train(params | {"multi_strategy": "multi_output_tree"}, dtrain, 4)
    margin = reference.predict(read_trees(booster), x, base_score=0.4)
    stock_margin = booster.predict(dtrain, output_margin=True).reshape(Y.shape)
    assert margin == pytest.approx(stock_margin, abs=1e-6)


def test_equal_trees():
    assert compare(grow(), grow()) == Comparison(equal_nodes=7, ties=0)


def test_cuts_between_the_same_rows_are_the_same_split():
    higher_cuts = [column - 0.001 for column in reference.cuts_of_distinct_values(X)]
    assert compare(grow(cuts=higher_cuts), grow()) == Comparison(equal_nodes=7, ties=0)


def test_equal_gains_of_other_rows_are_a_tie():
    # The second feature is the first one turned round, so that a split of one gains as much as a
    # split of the other that sends the same rows to the other sides.
    both = np.column_stack([X[:, 0], -X[:, 0]])
    cuts = reference.cuts_of_distinct_values(both)
    tree, mirrored = grow(both, [cuts[0], []]), grow(both, [[], cuts[1]])
    assert compare(tree, mirrored, both) == Comparison(equal_nodes=0, ties=1)


def test_a_gain_at_the_threshold_may_be_a_leaf():
    tree, leaf = grow(max_depth=1), grow(max_depth=0)
    for pair in [(tree, leaf), (leaf, tree)]:
        at_threshold = compare_trees(*pair, X, GRAD, HESS, "maxGain", gamma=tree.gain[0])
        assert at_threshold == Comparison(equal_nodes=0, ties=1)
        with pytest.raises(AssertionError, match=r"the split gains .* needed 1e-06"):
            compare(*pair)


def test_worse_split_is_refused():
    cuts = reference.cuts_of_distinct_values(X)
    cuts[grow().feature[0]] = []
    with pytest.raises(AssertionError, match=r"at our node 0 \(f.*their node 0 .*: gains "):
        compare(grow(), grow(cuts=cuts))


def test_wrong_leaf_value_is_refused():
    tree = grow()
    wrong = replace(tree, leaf_value=tree.leaf_value + np.where(tree.feature < 0, 2e-5, 0)[:, None])
    with pytest.raises(AssertionError, match=r"at our leaf .*: leaf values"):
        compare(wrong, tree)


def test_wrong_recorded_gain_is_refused():
    tree = grow()
    with pytest.raises(AssertionError, match=r"node 0 .* on 40 rows gains"):
        compare(tree, replace(tree, gain=tree.gain * 1.001))
