"""Shared parts of methods: base learners and what they refuse, J48's pruning, metrics.

Pruning is compared with the worked example of C4.5 and a recursive reference implementation,
metrics of probabilities with numbers computed by hand and with each other.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from experiments.engine.registry import Split
from experiments.method_parts import (
    J48TreeClassifier,
    base_learner,
    calibration_error,
    labelset_log_loss,
    log_loss,
    log_loss_given_one,
    pessimistic_errors,
)
from xdcc.comparators.baselines import ProbabilisticClassifierChain
from xdcc.data import make_multilabel

TRAIN = make_multilabel(20, n_labels=3, random_state=0)


def test_a_tree_takes_parameters():
    assert base_learner("tree", TRAIN).min_samples_leaf == 5
    tree = base_learner("tree", TRAIN, min_samples_leaf=2, max_depth=3)
    assert (tree.min_samples_leaf, tree.max_depth) == (2, 3)


def test_parameters_of_the_tree_are_not_ignored_by_others():
    with pytest.raises(TypeError, match="max_depth: these are parameters of base 'tree', not of"):
        base_learner("logistic", TRAIN, max_depth=3)


def test_unknown_name():
    with pytest.raises(ValueError, match="base is 'forest'; allowed are"):
        base_learner("forest", TRAIN)


def test_errors_of_the_book() -> None:
    # Quinlan, section 4.2: leaves with 6, 9 and 1 instances and no errors, at 25 %.
    rates = pessimistic_errors(np.array([6.0, 9.0, 1.0]), np.zeros(3), 0.25) / [6, 9, 1]
    np.testing.assert_allclose(rates, [0.206, 0.143, 0.750], atol=5e-4)


def test_upper_limits_are_near_those_of_the_binomial_distribution() -> None:
    n, errors = np.array([16.0, 40.0, 200.0]), np.array([1.0, 7.0, 90.0])
    found = pessimistic_errors(n, errors, 0.25) / n
    exact = [
        optimize.brentq(lambda p, n=n, e=e: stats.binom.cdf(e, n, p) - 0.25, 1e-6, 1 - 1e-6)
        for n, e in zip(n, errors, strict=True)
    ]
    np.testing.assert_allclose(found, exact, atol=0.006)
    assert pessimistic_errors(np.array([2.0]), np.array([2.0]), 0.25) == 2
    half = pessimistic_errors(np.array([5.0] * 3), np.array([0, 0.5, 1]), 0.25)
    assert half[1] == pytest.approx((half[0] + half[2]) / 2)


def _prune(tree: DecisionTreeClassifier, X: NDArray, y: NDArray, node: int = 0) -> tuple:
    """Prune recursively; return the estimated errors and which node each row ends in."""
    counts = np.bincount(y, minlength=2)
    as_leaf = pessimistic_errors(
        np.array([counts.sum()], float), np.array([counts.min()], float), 0.25
    ).item()
    inner = tree.tree_
    if inner.children_left[node] < 0:
        return as_leaf, np.full(len(y), node)
    left = X[:, inner.feature[node]] <= inner.threshold[node]
    ends = np.empty(len(y), dtype=int)
    estimate = 0.0
    for side, child in ((left, inner.children_left[node]), (~left, inner.children_right[node])):
        part, ends[side] = _prune(tree, X[side], y[side], child)
        estimate += part
    if as_leaf <= estimate + 0.1:
        return as_leaf, np.full(len(y), node)
    return estimate, ends


@pytest.mark.parametrize("seed", range(5))
def test_leaves_are_those_of_the_recursion(seed: int) -> None:
    X, y = make_classification(150, flip_y=0.2, random_state=seed)
    X = X.astype(np.float32)
    params = {"criterion": "entropy", "min_samples_leaf": 2, "random_state": 0}
    whole = DecisionTreeClassifier(**params).fit(X, y)
    pruned = J48TreeClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(pruned.apply(X), _prune(whole, X, y)[1])
    assert len(set(pruned.apply(X))) < len(set(whole.apply(X)))


def test_it_is_an_estimator() -> None:
    X, y = make_classification(100, n_classes=3, n_informative=4, random_state=0)
    tree = clone(J48TreeClassifier(confidence=0.1, random_state=3)).fit(X, y)
    params = {"min_samples_leaf": 2, "confidence": 0.1, "laplace": False, "random_state": 3}
    assert tree.get_params() == params
    np.testing.assert_allclose(tree.predict_proba(X).sum(axis=1), 1)
    smaller = len(set(tree.apply(X)))
    assert smaller <= len(set(J48TreeClassifier(random_state=3).fit(X, y).apply(X)))


def test_laplace_estimates_of_a_whole_tree() -> None:
    X, y = make_classification(100, n_classes=3, n_informative=4, random_state=0)
    tree = J48TreeClassifier(confidence=None, laplace=True, random_state=0).fit(X, y)
    whole = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)
    leaves = whole.fit(X, y).apply(X)
    np.testing.assert_array_equal(tree.apply(X), leaves)
    counts = np.stack([np.bincount(y[leaves == leaf], minlength=3) for leaf in leaves])
    expected = (counts + 1) / (counts.sum(axis=1, keepdims=True) + 3)
    np.testing.assert_allclose(tree.predict_proba(X), expected)


def test_ties_go_to_the_first_class() -> None:
    for laplace in (False, True):
        tree = J48TreeClassifier(confidence=None, laplace=laplace)
        tree.fit([[0], [0], [1], [1]], [0, 1, 1, 1])
        proba = tree.predict_proba([[0], [1]])
        assert proba[0, 1] < 0.5 < proba[1, 1]
        np.testing.assert_allclose(proba[0], 0.5)


def saying(proba):
    return SimpleNamespace(predict_proba=lambda X: np.asarray(proba, dtype=float))


def test_calibration_error_by_hand():
    Y = np.array([[0, 1], [1, 1], [0, 1]])
    model = saying([[0.02, 0.04], [0.5, 0.99], [0.01, 1.0]])
    off = abs(0.07 - 1) + 0.5 + abs(1.99 - 2)
    assert calibration_error(model, Split(None, Y), Y) == pytest.approx(off / 6)


def test_log_loss_of_labelsets():
    data = make_multilabel(100, n_labels=3, random_state=0)
    split = Split(data, data.X)
    independent = saying(np.full(data.Y.shape, 0.25))
    expected = 3 * log_loss(independent, split, data.Y)
    assert labelset_log_loss(independent, split, data.Y) == pytest.approx(expected)
    chain = ProbabilisticClassifierChain(random_state=0).fit(data.X, data.Y)
    expected = -chain.log_prob(data.X, data.Y).mean()
    assert labelset_log_loss(chain, split, data.Y) == pytest.approx(expected)


def test_log_loss_when_one_label_is_known():
    data = make_multilabel(60, n_labels=3, random_state=0)
    split = Split(data, data.X)
    deaf = saying(np.full(data.Y.shape, 0.25))
    expected = log_loss(deaf, split, data.Y)
    assert log_loss_given_one(deaf, split, data.Y) == pytest.approx(expected)

    def copies(X, known):
        """Say of all labels what the known one is, nearly."""
        one = np.nanmax(known, axis=1, keepdims=True)
        return np.tile(np.clip(one, 0.1, 0.9), 3)

    hearing, Y = SimpleNamespace(predict_proba=copies), np.repeat(data.Y[:, :1], 3, axis=1)
    assert log_loss_given_one(hearing, split, Y) == pytest.approx(-np.log(0.9))
