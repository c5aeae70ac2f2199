"""`LaCovaCForestClassifier`: votes, samples, features, threads, and invalid input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.data import load_dataset, make_multilabel
from xdcc.metrics import evaluate


def forest(**params):
    return LaCovaCForestClassifier(**{"n_estimators": 10, "random_state": 0, "n_jobs": 1} | params)


@pytest.fixture(scope="module")
def data():
    made = make_multilabel(n_samples=300, n_labels=6, noise=0.1, random_state=0)
    return np.asarray(made.X, dtype=np.float32), np.asarray(made.Y)


def test_one_tree_on_all_rows_and_features_equals_the_classifier(data):
    X, Y = data
    limits = {"min_samples_leaf": 3, "min_samples_split": 8, "max_depth": 9, "n_jobs": 1}
    one = forest(n_estimators=1, bootstrap=False, max_features=None, **limits).fit(X, Y)
    tree = LaCovaCClassifier(**limits).fit(X, Y)
    np.testing.assert_array_equal(one.apply(X)[:, 0], tree.apply(X))
    np.testing.assert_array_equal(one.predict_proba(X), tree.predict_proba(X))
    np.testing.assert_array_equal(one.predict(X), tree.predict(X))


def test_proba_is_the_mean_over_trees(data):
    X, Y = data
    model = forest().fit(X, Y)
    trees, leaves = model.trees_, model.apply(X)
    assert leaves.shape == (300, 10, 6)
    proba = np.zeros(Y.shape)
    for row, tree, label in np.ndindex(leaves.shape):
        labels, labelsets, shares = trees.labelsets(leaves[row, tree, label])
        proba[row, label] += shares @ labelsets[:, np.searchsorted(labels, label)] / 10
    np.testing.assert_allclose(model.predict_proba(X), proba)


def test_votes(data):
    X, Y = data
    model = forest(n_estimators=7).fit(X, Y)
    trees, leaves = model.trees_, model.apply(X)
    proba, predicted = model.predict_proba(X), model.predict(X)
    for row in range(50):
        votes = []
        for tree in range(7):
            vote = np.full(6, -1)
            for leaf in set(leaves[row, tree].tolist()):
                labels, labelsets, _ = trees.labelsets(leaf)
                vote[labels] = labelsets[0]
            votes.append(tuple(vote.tolist()))
        odds = np.log(proba[row] + 1e-9) - np.log(1 - proba[row] + 1e-9)
        # Ties go to the larger product of label probabilities, then to the smaller labelset.
        elected = min(votes, key=lambda v: (-votes.count(v), -np.dot(v, odds).round(6), v))
        assert tuple(predicted[row]) == elected


def test_votes_for_labels(data):
    model = forest(voting="label").fit(*data)
    np.testing.assert_array_equal(model.predict(data[0]), model.predict_proba(data[0]) >= 0.5)


def test_votes_are_counted_in_blocks(data, monkeypatch):
    model = forest().fit(*data)
    whole = model.predict(data[0])
    monkeypatch.setattr("xdcc.comparators.lacovac.forest._VOTES_AT_ONCE", 7 * 10 * 6)
    np.testing.assert_array_equal(model.predict(data[0]), whole)


@pytest.mark.parametrize("n_jobs", [2, 3, None])
def test_threads_do_not_change_the_forest(data, n_jobs):
    one, many = forest().fit(*data), forest(n_jobs=n_jobs).fit(*data)
    for name, value in vars(one.trees_).items():
        np.testing.assert_array_equal(value, getattr(many.trees_, name))
    np.testing.assert_array_equal(one.predict(data[0]), many.predict(data[0]))


def test_seeds(data):
    first, again, other = (
        forest(random_state=seed).fit(*data).predict_proba(data[0]) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_sparse_equals_dense(data):
    X = np.where(np.abs(data[0]) < 0.8, 0, data[0])
    dense, thin = forest().fit(X, data[1]), forest().fit(sparse.csr_array(X), data[1])
    np.testing.assert_array_equal(dense.predict_proba(X), thin.predict_proba(sparse.csc_array(X)))
    np.testing.assert_array_equal(dense.predict(X), thin.predict(sparse.csc_array(X)))


@pytest.mark.parametrize(
    ("value", "expected"), [("sqrt", 3), ("log2", 3), (4, 4), (0.5, 5), (1.0, 10), (0.01, 1)]
)
def test_number_of_features(data, value, expected):
    """A stump splits on the best of the drawn features; count how often it is the first feature.

    1,000 stumps; a feature that alone predicts the label is drawn in expected/10 of them. The
    standard error is at most 1.6 %.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 10))
    Y = (X[:, :1] > 0).astype(int)
    stumps = forest(n_estimators=1000, max_features=value, max_depth=1, bootstrap=False)
    root_feature = stumps.fit(X, Y).trees_.feature[stumps.trees_.start[:-1]]
    assert abs((root_feature == 0).mean() - expected / 10) < 0.06


def test_constant_features_are_not_drawn():
    rng = np.random.default_rng(0)
    X = np.column_stack((np.zeros((40, 20)), rng.normal(size=40)))
    Y = (X[:, -1:] > 0).astype(int)
    model = forest(max_features=1, bootstrap=False).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)


def test_pruned_trees(data):
    model = forest(max_leaf_nodes=8).fit(*data)
    is_leaf = model.trees_.kind == 0
    n_leaves = np.add.reduceat(is_leaf, model.trees_.start[:-1])
    assert n_leaves.max() <= 8
    assert model.predict(data[0]).shape == data[1].shape


def test_better_than_a_tree():
    train, test = load_dataset("digits", "train"), load_dataset("digits", "test")
    accuracy = [
        evaluate(test.Y, model.fit(train.X, train.Y).predict(test.X))["subset_accuracy"]
        for model in (LaCovaCClassifier(n_jobs=1), forest(n_estimators=30))
    ]
    assert accuracy[1] > accuracy[0] + 0.05


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0: it must be a whole number at least 1"),
        (
            {"max_features": 0},
            "max_features=0: it must be one of 'sqrt', 'log2', a whole",
        ),
        ({"max_features": 1.5}, "max_features=1.5: it must be"),
        ({"max_features": "all"}, "max_features='all': it must be"),
        ({"voting": "soft"}, "voting='soft': it must be one of"),
        ({"bootstrap": "yes"}, "bootstrap='yes': it must be True or False"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0: it must be a whole number"),
    ],
)
def test_invalid_parameters(data, params, message):
    with pytest.raises(ValueError, match=message):
        forest(**params).fit(*data)


def test_not_fitted(data):
    for method in ("predict", "predict_proba", "apply"):
        with pytest.raises(NotFittedError):
            getattr(forest(), method)(data[0])
