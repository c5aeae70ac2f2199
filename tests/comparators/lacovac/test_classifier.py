"""`LaCovaCClassifier`: predictions, inspection, missing values, categories, and invalid input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import hamming_loss
from sklearn.tree import DecisionTreeClassifier

from xdcc.comparators.lacovac import LaCovaCClassifier
from xdcc.comparators.lacovac._growing import KINDS
from xdcc.data import make_multilabel


def tree(**params):
    return LaCovaCClassifier(**{"n_jobs": 1} | params)


@pytest.fixture(scope="module")
def data():
    made = make_multilabel(n_samples=300, n_labels=6, random_state=0)
    return np.asarray(made.X, dtype=np.float32), np.asarray(made.Y)


def same_trees(a, b):
    return all(
        np.array_equal(value, getattr(b.tree_, name), equal_nan=True)
        for name, value in vars(a.tree_).items()
        if isinstance(value, np.ndarray)
    )


def test_learns(data):
    X, Y = data
    majority = np.tile((Y[:200].mean(axis=0) >= 0.5).astype(int), (100, 1))
    model = tree().fit(X[:200], Y[:200])
    assert hamming_loss(Y[200:], model.predict(X[200:])) < hamming_loss(Y[200:], majority)


def test_single_label_is_a_gini_tree_of_scikit_learn():
    """Without ties, the variance with n - 1 instead of n gives the same order of large splits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)).astype(np.float32)
    Y = ((X[:, 1] > 0.3) ^ (rng.random(2000) < 0.1)).astype(int)
    limits = {"max_depth": 2, "min_samples_leaf": 100}
    ours = tree(**limits).fit(X, Y)
    theirs = DecisionTreeClassifier(**limits, random_state=0).fit(X, Y)
    assert ours.get_n_leaves() == theirs.get_n_leaves() == 4
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("criterion", ["covariance", "variance", "gain_ratio"])
@pytest.mark.parametrize("clustering", ["single_linkage", "all_or_none", None])
def test_predictions_are_those_of_the_leaves(data, criterion, clustering):
    X, Y = data
    model = tree(criterion=criterion, clustering=clustering).fit(X, Y)
    leaves = model.apply(X)
    assert leaves.shape == Y.shape
    assert (model.tree_.kind[leaves] == KINDS["leaf"]).all()
    predicted, proba = model.predict(X), model.predict_proba(X)
    for leaf in np.unique(leaves):
        labels, labelsets, shares = model.leaf_labelsets(leaf)
        rows = np.flatnonzero(leaves[:, labels[0]] == leaf)
        assert len(rows) == model.tree_.n_samples[leaf]
        np.testing.assert_allclose(shares.sum(), 1)
        assert (np.diff(shares) <= 0).all()
        block = np.ix_(rows, labels)
        np.testing.assert_array_equal(predicted[block], np.tile(labelsets[0], (len(rows), 1)))
        np.testing.assert_allclose(proba[block], np.tile(Y[block].mean(axis=0), (len(rows), 1)))
        np.testing.assert_allclose(shares @ labelsets, Y[block].mean(axis=0))


def test_vertical_splits_lead_into_several_leaves(data):
    X, Y = data
    model = tree().fit(X, Y)
    leaves, path = model.apply(X), model.decision_path(X)
    assert path.shape == (len(X), model.tree_.n_nodes)
    assert path.dtype == bool
    is_leaf = model.tree_.kind == KINDS["leaf"]
    n_leaves = [len(set(row)) for row in leaves]
    assert max(n_leaves) > 1
    np.testing.assert_array_equal(path[:, is_leaf].sum(axis=1), n_leaves)
    for row in range(5):
        passed = set(path[[row]].indices)
        for node in passed - set(leaves[row]):
            below = passed & set(model.tree_.children(node))
            vertical = model.tree_.kind[node] == KINDS["vertical"]
            assert len(below) == (model.tree_.n_children[node] if vertical else 1)


@pytest.mark.parametrize("smoothing", [0.5, 1])
def test_smoothing(data, smoothing):
    plain, smooth = tree().fit(*data), tree(smoothing=smoothing).fit(*data)
    n = plain.tree_.n_samples[plain.apply(data[0])]
    positive = plain.predict_proba(data[0]) * n
    np.testing.assert_allclose(
        smooth.predict_proba(data[0]), (positive + smoothing) / (n + 2 * smoothing)
    )
    np.testing.assert_array_equal(smooth.predict(data[0]), plain.predict(data[0]))


def test_no_clustering_gives_one_leaf(data):
    leaves = tree(clustering=None).fit(*data).apply(data[0])
    assert (leaves == leaves[:, :1]).all()


def test_all_or_none_separates_all_labels_or_none(data):
    X, Y = data
    model = tree(clustering="all_or_none").fit(X, Y)
    vertical = np.flatnonzero(model.tree_.kind == KINDS["vertical"])
    assert len(vertical)
    for node in vertical:
        assert len(model.tree_.children(node)) == len(model.tree_.labels(node))


def test_all_or_none_at_the_root():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    independent = (rng.random((200, 4)) < 0.5).astype(int)
    dependent = np.repeat(independent[:, :1], 4, axis=1) ^ (rng.random((200, 4)) < 0.1)
    kinds = [
        tree(clustering="all_or_none").fit(X, Y).tree_.kind[0] for Y in (independent, dependent)
    ]
    assert kinds == [KINDS["vertical"], KINDS["numeric"]]


def test_limits(data):
    X, Y = data
    model = tree(max_depth=3, min_samples_leaf=7).fit(X, Y)
    assert model.get_depth() == 3
    assert model.get_n_leaves() == len(model.tree_.leaves)
    below_horizontal = model.tree_.n_samples[model.tree_.leaves]
    assert below_horizontal.min() >= 7
    stump = tree(max_depth=0).fit(X, Y)
    assert stump.get_n_leaves() == 1
    whole = tree(min_samples_split=len(X) + 1).fit(X, Y)
    assert whole.get_n_leaves() == 1


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_the_tree(n_jobs):
    """The data are large enough for parallel searches at the nodes near the root."""
    made = make_multilabel(n_samples=3000, n_labels=40, random_state=1)
    one, many = (tree(n_jobs=n, max_depth=3).fit(made.X, made.Y) for n in (1, n_jobs))
    assert same_trees(one, many)
    np.testing.assert_array_equal(one.predict_proba(made.X), many.predict_proba(made.X))


def test_sparse_equals_dense(data):
    X = np.where(np.abs(data[0]) < 0.8, 0, data[0])
    dense, thin = tree().fit(X, data[1]), tree().fit(sparse.csc_array(X), data[1])
    assert same_trees(dense, thin)
    np.testing.assert_array_equal(dense.predict(X), thin.predict(sparse.csr_matrix(X)))
    np.testing.assert_array_equal(dense.apply(X), thin.apply(sparse.coo_array(X)))


def test_sparse_x_stays_sparse():
    """A dense array of this shape would need 40 GB."""
    n_features = 10**7
    columns = np.random.default_rng(0).choice([5, 1000, n_features - 1], 1000)
    rows = np.arange(1000)
    X = sparse.csr_array((np.ones(1000), (rows, columns)), shape=(1000, n_features))
    Y = (columns[:, np.newaxis] == [5, 1000]).astype(int)
    model = tree().fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)


def test_missing_values_go_to_the_better_side():
    """The label says which values are missing, so a split on their feature is perfect."""
    x = np.r_[np.zeros(10), np.ones(10), np.full(10, np.nan)][:, np.newaxis]
    Y = np.r_[np.zeros(10), np.ones(20)].astype(int)
    model = tree().fit(x, Y)
    np.testing.assert_array_equal(model.predict(x), Y)
    assert model.get_n_leaves() == 2
    assert model.tree_.default_child[0] == 1


def test_new_missing_values_go_to_the_larger_side():
    x = np.r_[np.zeros(10), np.ones(30)][:, np.newaxis]
    Y = np.r_[np.zeros(10), np.ones(30)].astype(int)
    assert tree().fit(x, Y).predict([[np.nan]]) == 1
    assert tree().fit(1 - x, 1 - Y).predict([[np.nan]]) == 0


def test_column_of_missing_values(data):
    X, Y = data
    X = np.column_stack((X, np.full(len(X), np.nan)))
    assert same_trees(tree().fit(X, Y), tree().fit(*data))


def nominal_data():
    """Four categories: 12 rows each of a and b, 6 of c, 2 of d; the label is b or d."""
    category = np.repeat([0, 1, 2, 3], [12, 12, 6, 2])
    return category, np.isin(category, [1, 3]).astype(int)


@pytest.mark.filterwarnings("ignore:Values that did not occur in fit")
def test_nominal_features_have_a_branch_per_frequent_category():
    category, Y = nominal_data()
    X = pd.DataFrame({"kind": pd.Categorical.from_codes(category, list("abcd"))})
    model = tree().fit(X, Y)
    assert model.tree_.kind[0] == KINDS["nominal"]
    assert model.tree_.n_samples[list(model.tree_.children(0))].tolist() == [14, 12, 6]
    # d is rare and "unseen" is new, so both follow the largest branch, that of a.
    new = pd.DataFrame({"kind": pd.Categorical(["a", "b", "c", "d", "unseen", None])})
    assert model.predict(new).tolist() == [0, 1, 0, 0, 0, 0]


def test_categorical_features_as_positions_or_mask():
    category, Y = nominal_data()
    X = np.column_stack((np.zeros(len(Y)), category))
    models = [tree(categorical_features=c).fit(X, Y) for c in ([1], [False, True])]
    assert same_trees(*models)
    assert models[0].tree_.kind[0] == KINDS["nominal"]
    assert models[0].predict([[0, 9], [0, np.nan], [0, 1]]).tolist() == [0, 0, 1]
    thin = tree(categorical_features=[1]).fit(sparse.csr_array(X), Y)
    assert same_trees(models[0], thin)


def test_two_categories():
    Y = np.repeat([0, 1], [10, 30])
    X = np.where(Y, 5, 2)[:, np.newaxis]
    model = tree(categorical_features=[0]).fit(X, Y)
    assert model.tree_.kind[0] == KINDS["nominal"]
    # 3 is a new value, and 5 has more rows.
    assert model.predict([[2], [5], [3], [np.nan]]).tolist() == [0, 1, 1, 1]


def test_constant_labels_are_separate_clusters(data):
    X, Y = data
    Y = np.column_stack((np.zeros(len(Y), int), Y, np.ones(len(Y), int)))
    model = tree().fit(X, Y)
    first = [model.tree_.labels(child).tolist() for child in model.tree_.children(0)]
    assert [0] in first
    assert [Y.shape[1] - 1] in first
    np.testing.assert_array_equal(model.predict(X)[:, [0, -1]], Y[:, [0, -1]])
    np.testing.assert_array_equal(model.predict_proba(X)[:, [0, -1]], Y[:, [0, -1]])


def test_only_constant_labels():
    Y = np.tile([0, 1, 1], (20, 1))
    model = tree().fit(np.arange(20)[:, np.newaxis], Y)
    assert model.get_n_leaves() == 1
    np.testing.assert_array_equal(model.predict([[3]]), [[0, 1, 1]])


def test_label_that_is_constant_in_a_node_is_separated_there():
    rng = np.random.default_rng(0)
    x = np.repeat([0, 1], 50)
    Y = np.zeros((100, 2), int)
    Y[:50] = rng.random((50, 1)) < 0.7
    Y[:50] ^= rng.random((50, 2)) < 0.1
    Y[50:, 0] = rng.random(50) < 0.5
    model = tree().fit(np.column_stack((x, rng.random(100))), Y)
    assert model.predict_proba([[1, 0.5]])[0, 1] == 0
    right = model.tree_.children(0)[1]
    assert model.tree_.kind[right] == KINDS["vertical"]
    assert [model.tree_.labels(c).tolist() for c in model.tree_.children(right)] == [[0], [1]]


def test_fewer_than_six_instances_are_a_leaf():
    X, Y = np.arange(5)[:, np.newaxis], np.eye(5, dtype=int)[:, :2]
    assert tree(min_samples_leaf=1).fit(X, Y).get_n_leaves() == 1
    # With fewer than five instances, no correlation is significant: λ is above 1.
    separated = tree(min_samples_leaf=1, min_samples_split=2).fit(X[:4], Y[:4])
    assert separated.tree_.kind[0] == KINDS["vertical"]
    assert tree().fit([[1.0]], [[1, 0]]).predict([[2.0]]).tolist() == [[1, 0]]


def test_duplicate_features_change_only_the_chosen_feature(data):
    X, Y = data
    one, two = tree().fit(X, Y), tree().fit(np.hstack((X, X)), Y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(np.hstack((X, X))))
    assert (two.tree_.feature[two.tree_.feature >= 0] >= X.shape[1]).all()


def test_label_without_positive_instances_is_a_cluster():
    Y = np.zeros((30, 3), int)
    Y[:15, :2] = 1
    model = tree().fit(np.arange(30)[:, np.newaxis], Y)
    assert [model.tree_.labels(c).tolist() for c in model.tree_.children(0)] == [[0, 1], [2]]
    np.testing.assert_array_equal(model.predict([[0.0], [29.0]]), [[1, 1, 0], [0, 0, 0]])


def test_ties_between_labelsets():
    """In the leaf, 10 and 01 are equally frequent; in all rows, 10 is more frequent."""
    x = np.repeat([0, 1], [10, 12])[:, np.newaxis]
    Y = np.array([[0, 1], [1, 0]] * 5 + [[1, 0]] * 12)
    model = tree(clustering=None).fit(x, Y)
    assert model.predict([[0]]).tolist() == [[1, 0]]
    # If both are equally frequent in all rows, too, the lexicographically smaller one wins.
    Y = np.array([[0, 1], [1, 0]] * 11)
    assert tree(clustering=None, max_depth=0).fit(x, Y).predict([[0]]).tolist() == [[0, 1]]


def test_names_of_a_dataframe(data):
    X, Y = (
        pd.DataFrame(part).rename(columns=lambda c, p=prefix: f"{p}{c}")
        for part, prefix in zip(data, "xy", strict=True)
    )
    model = tree().fit(X, Y)
    assert model.label_names_.tolist() == [f"y{j}" for j in range(6)]
    np.testing.assert_array_equal(model.predict(X), tree().fit(*data).predict(data[0]))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"criterion": "gini"}, "criterion='gini': it must be one of"),
        ({"clustering": "ward"}, "clustering='ward': it must be one of"),
        ({"threshold_size": 12}, "threshold_size=12: it must be one of"),
        ({"min_samples_split": 1}, "min_samples_split=1: it must be a whole number at least 2"),
        ({"min_samples_leaf": 0.5}, "min_samples_leaf=0.5: it must be a whole number"),
        ({"max_depth": -1}, "max_depth=-1: it must be a whole number at least 0"),
        ({"max_leaf_nodes": 0}, "max_leaf_nodes=0: it must be a whole number at least 1"),
        ({"ccp_alpha": -0.1}, "ccp_alpha=-0.1: it must be a number at least 0"),
        ({"smoothing": -1}, "smoothing=-1: it must be a number at least 0"),
        ({"smoothing": np.inf}, "smoothing=inf: it must be a number at least 0"),
        ({"n_jobs": 0}, "n_jobs=0: it must be a whole number from 1 to"),
        ({"categorical_features": [99]}, "categorical_features=.*positions from 0 to"),
    ],
)
def test_invalid_parameters(data, params, message):
    with pytest.raises(ValueError, match=message):
        tree(**params).fit(*data)


def test_unknown_label_is_rejected(data):
    X, Y = data[0], data[1].astype(float)
    Y[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3 for label 'label_2', but label trees need every"):
        tree().fit(X, Y)


def test_different_number_of_features(data):
    model = tree().fit(*data)
    with pytest.raises(ValueError, match="features, but LaCovaCClassifier is expecting"):
        model.predict(data[0][:, 1:])


@pytest.mark.parametrize("leaf", [-1, 10**6, "first"])
def test_invalid_leaf(data, leaf):
    with pytest.raises(ValueError, match=r"leaf=.*whole number at least 0"):
        tree().fit(*data).leaf_labelsets(leaf)


def test_inner_node_has_no_labelsets(data):
    with pytest.raises(ValueError, match="Node 0 is not a leaf"):
        tree().fit(*data).leaf_labelsets(0)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "decision_path"])
def test_not_fitted(data, method):
    with pytest.raises(NotFittedError):
        getattr(tree(), method)(data[0])
    with pytest.raises(NotFittedError):
        tree().get_depth()


def test_parameters_are_kept(data):
    model = tree(min_samples_leaf=7, clustering="all_or_none")
    assert clone(model).fit(*data).get_params() == model.get_params()
