"""Cost-complexity pruning: by hand, compared with scikit-learn for one label, and limits."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from xdcc.comparators.lacovac import LaCovaCClassifier
from xdcc.comparators.lacovac._growing import KINDS
from xdcc.data import make_multilabel


def tree(**params):
    return LaCovaCClassifier(**{"n_jobs": 1} | params)


@pytest.fixture(scope="module")
def data():
    made = make_multilabel(n_samples=300, n_labels=6, noise=0.1, random_state=0)
    return np.asarray(made.X, dtype=np.float32), np.asarray(made.Y)


def costs(model):
    """Cost and number of estimates of a tree."""
    fitted = model.tree_
    leaves = fitted.leaves
    share = fitted.n_samples[leaves] / fitted.n_samples[0]
    n_labels = sum(len(fitted.labels(leaf)) for leaf in leaves)
    return (share * fitted.impurity[leaves]).sum(), n_labels


def test_by_hand():
    """40 rows, x is 0, 1, 2, 3 in ten each; y is 1 in 0, 1, 8 and 10 of them.

    Variances times 40: the root's (19/40 positive) is 9.975; of a split at 1.5 it is 20 * 19/400
    + 20 * 36/400 = 2.75, of its two children's splits 0 + 10 * 9/100 = 0.9 and 10 * 16/100 = 1.6.
    So the second split gains 0.05 / 40, the third one 0.2 / 40, the first one 7.225 / 40.
    """
    x = np.repeat([0, 1, 2, 3], 10)[:, np.newaxis]
    Y = np.r_[np.zeros(19), np.ones(9), np.zeros(2), np.ones(10)].astype(int)
    n_leaves = [
        tree(ccp_alpha=alpha / 40).fit(x, Y).get_n_leaves() for alpha in (0, 0.04, 0.06, 0.3, 8)
    ]
    assert n_leaves == [4, 4, 3, 2, 1]


@pytest.mark.parametrize("alpha", [0.01, 0.02, 0.03])
def test_one_label_against_scikit_learn(alpha):
    """Both trees are equal before pruning; Gini impurity is twice the variance."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, size=(4000, 1)).astype(np.float32)
    shares = np.array([0.05, 0.9, 0.3, 0.75, 0.15, 0.6, 0.95, 0.4])
    Y = (rng.random(4000) < shares[X[:, 0].astype(int)]).astype(int)
    ours = tree().fit(X, Y)
    theirs = DecisionTreeClassifier(random_state=0).fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    before = ours.get_n_leaves()
    ours.set_params(ccp_alpha=alpha).fit(X, Y)
    theirs.set_params(ccp_alpha=2 * alpha).fit(X, Y)
    assert 1 < ours.get_n_leaves() == theirs.get_n_leaves() < before
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


def test_pruned_tree_has_the_lowest_cost_plus_complexity(data):
    trees = [tree(ccp_alpha=alpha).fit(*data) for alpha in (0.0, 3e-4, 1e-3, 3e-3, 1e-2)]
    sizes = [model.get_n_leaves() for model in trees]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) > 3
    for model in trees:
        cost, n = costs(model)
        totals = [c + model.ccp_alpha * m for c, m in map(costs, trees)]
        assert cost + model.ccp_alpha * n <= min(totals) + 1e-12


def test_pruned_tree_is_a_tree(data):
    X, Y = data
    model = tree(ccp_alpha=1e-3).fit(X, Y)
    leaves = model.apply(X)
    for leaf in np.unique(leaves):
        labels, labelsets, shares = model.leaf_labelsets(leaf)
        rows = leaves[:, labels[0]] == leaf
        assert rows.sum() == model.tree_.n_samples[leaf]
        np.testing.assert_allclose(shares @ labelsets, Y[np.ix_(rows, labels)].mean(axis=0))
    inner = np.flatnonzero(model.tree_.kind != KINDS["leaf"])
    below = np.concatenate([[*model.tree_.children(node)] for node in inner])
    np.testing.assert_array_equal(np.sort(below), np.arange(1, model.tree_.n_nodes))


def test_number_of_leaves(data):
    """A limit gives the largest tree within it among the trees that `ccp_alpha` gives."""
    alphas = np.geomspace(1e-4, 0.1, 60)
    sizes = np.array([tree(ccp_alpha=alpha).fit(*data).get_n_leaves() for alpha in alphas])
    for n in (12, 40, 80):
        limited = tree(max_leaf_nodes=n).fit(*data).get_n_leaves()
        assert sizes[sizes <= n].max() <= limited <= n


@pytest.mark.parametrize("n", [1, 2, 3])
def test_vertical_splits_are_pruned_last(data, n):
    assert tree(max_leaf_nodes=n).fit(*data).get_n_leaves() <= n
    Y = np.column_stack((data[1][:, 0], np.zeros(300), np.ones(300)))
    separated = tree(max_leaf_nodes=n).fit(data[0], Y)
    assert separated.get_n_leaves() == (3 if n == 3 else 1)


def test_limit_that_is_not_reached(data):
    whole = tree().fit(*data)
    same = tree(max_leaf_nodes=whole.get_n_leaves()).fit(*data)
    assert same.get_n_leaves() == whole.get_n_leaves()
