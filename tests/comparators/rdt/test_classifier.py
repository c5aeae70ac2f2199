"""`RandomDecisionTreeClassifier`: predictions, parameters, and invalid input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from xdcc.comparators.rdt import RandomDecisionTreeClassifier, _forest_growing


def labelled_rows(seed=0, n_rows=120, n_labels=4):
    """Labels that depend on the features and on each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).astype(np.float32)
    Y = (X[:, :n_labels] + 0.3 * rng.normal(size=(n_rows, n_labels)) > 0.4).astype(np.int8)
    Y[:, -1] = Y[:, 0] & Y[:, 1]
    return X, Y


def small(**params):
    return RandomDecisionTreeClassifier(
        **{"n_estimators": 20, "random_state": 0, "n_jobs": 1} | params
    )


@pytest.fixture(scope="module")
def fitted():
    X, Y = labelled_rows()
    return small(n_estimators=50).fit(X, Y)


def set_up(model, **params):
    """A copy with the same trees and other parameters."""
    other = clone(model).set_params(**params)
    other.__dict__ |= {k: v for k, v in vars(model).items() if k not in other.get_params()}
    return other


@pytest.mark.parametrize("chain", ["dynamic", "static", None])
@pytest.mark.parametrize("threshold", ["label", "probability"])
def test_learns(fitted, chain, threshold):
    X, Y = labelled_rows(seed=1)
    model = set_up(fitted, chain=chain, threshold=threshold)
    assert (model.predict(X) == Y).mean() > 0.8


def test_powerset_predicts_known_labelsets(fitted):
    X, Y = labelled_rows(seed=1)
    model = set_up(fitted, transformation="powerset")
    predicted = model.predict(X)
    assert (predicted == Y).mean() > 0.8
    known = {tuple(row) for row in labelled_rows()[1].tolist()}
    assert {tuple(row) for row in predicted.tolist()} <= known
    # Marginals of labelsets differ from those of labels, as the weights of the trees differ.
    assert np.abs(model.predict_proba(X) - set_up(fitted, chain=None).predict_proba(X)).max() < 0.2


def test_powerset_marginals_are_posteriors_with_equal_weights(fitted):
    X, _ = labelled_rows(seed=1)
    equal = {"tree_weight": "equal"}
    powerset = set_up(fitted, transformation="powerset", **equal).predict_proba(X)
    assert powerset == pytest.approx(set_up(fitted, chain=None, **equal).predict_proba(X))


def test_labelsets_are_sorted_by_frequency(fitted):
    _, Y = labelled_rows()
    counts = [(labelset == Y).all(axis=1).sum() for labelset in fitted.labelsets_]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == len(Y)


@pytest.mark.parametrize("chain", ["dynamic", "static"])
def test_sigma_0_is_binary_relevance(fitted, chain):
    X, _ = labelled_rows(seed=1)
    alone = set_up(fitted, chain=None, threshold="probability")
    chained = set_up(fitted, chain=chain, threshold="probability", sigma=0.0)
    np.testing.assert_array_equal(chained.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(chained.predict(X), alone.predict(X))


def test_sigma_activates_a_share_of_the_tests(fitted):
    X, _ = labelled_rows(seed=1)
    alone = set_up(fitted, sigma=0.0, threshold="probability").predict_proba(X)
    distance = [
        np.abs(set_up(fitted, sigma=s, threshold="probability").predict_proba(X) - alone).mean()
        for s in (0.25, 0.5, 1.0)
    ]
    assert 0 < distance[0] < distance[1] < distance[2]


@pytest.mark.parametrize("chain", ["dynamic", "static", None])
def test_without_label_tests_the_order_has_no_effect(chain):
    X, Y = labelled_rows()
    model = small(label_test_fraction=0, chain=chain, threshold="probability").fit(X, Y)
    other = set_up(model, chain=None)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert 3 not in model.forest_.kind


def test_only_label_tests():
    X, Y = labelled_rows()
    model = small(label_test_fraction=1).fit(X, Y)
    assert set(model.forest_.kind.tolist()) == {0, 3}
    # No feature is used.
    assert len(np.unique(model.predict(X), axis=0)) == 1


def test_static_orders(fitted):
    X, _ = labelled_rows(seed=1)
    order = [2, 0, 3, 1]
    given = set_up(fitted, chain="static", order=order)
    assert (given.predict_order(X) == order).all()
    random = set_up(fitted, chain="static").predict_order(X)
    assert (random == fitted.random_order_).all()
    assert sorted(fitted.random_order_) == [0, 1, 2, 3]


def test_dynamic_order_depends_on_the_row(fitted):
    X, _ = labelled_rows(seed=1)
    orders = fitted.predict_order(X)
    assert (np.sort(orders, axis=1) == np.arange(4)).all()
    assert len(np.unique(orders, axis=0)) > 1


def test_trace(fitted):
    X, Y = labelled_rows(seed=1)
    trace = fitted.trace(X)
    rows = np.arange(len(X))
    for iteration in range(4):
        label = trace.labels[:, iteration]
        assert (trace.values()[:, iteration] == trace.Y_proba[rows, label]).all()
        assert (trace.positive()[:, iteration] == trace.Y_pred[rows, label]).all()
        right = trace.Y_pred[rows, label] == Y[rows, label]
        assert (trace.correct(Y)[:, iteration] == right).all()
    np.testing.assert_array_equal(fitted.predict(X), trace.Y_pred)
    np.testing.assert_array_equal(fitted.predict_proba(X), trace.Y_proba)


def test_positive_candidates_shorten_the_chain(fitted):
    X, _ = labelled_rows(seed=1)
    model = set_up(fitted, candidates="positive")
    trace = model.trace(X)
    assert ((trace.labels >= 0).sum(axis=1) == trace.Y_pred.sum(axis=1)).all()
    assert (trace.positive()[trace.labels >= 0] == 1).all()


def test_early_stop_leaves_labels_open(fitted):
    X, _ = labelled_rows(seed=1)
    whole, stopped = fitted.trace(X), set_up(fitted, early_stop=True).trace(X)
    ended = stopped.labels < 0
    assert ended.any()
    assert np.isnan(stopped.values()[ended]).all()
    assert np.isnan(stopped.numbers[ended]).all()
    np.testing.assert_array_equal(whole.labels[~ended], stopped.labels[~ended])


def test_binary_relevance_cuts_the_ranking(fitted):
    X, _ = labelled_rows(seed=1)
    model = set_up(fitted, chain=None)
    for proba, predicted in zip(model.predict_proba(X), model.predict(X), strict=True):
        if 0 < predicted.sum() < 4:
            assert proba[predicted == 1].min() >= proba[predicted == 0].max()


@pytest.mark.parametrize("params", [{"size_exponent": 1.0}, {"tree_weight": "equal"}])
def test_weights_change_probabilities(fitted, params):
    X, _ = labelled_rows(seed=1)
    assert (fitted.predict_proba(X) != set_up(fitted, **params).predict_proba(X)).any()


@pytest.mark.parametrize("params", [{}, {"redraw": True}, {"disjunction_size": 3}])
def test_results_do_not_depend_on_threads(params):
    X, Y = labelled_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0
    one, three = (small(n_jobs=n, **params).fit(X, Y) for n in (1, 3))
    for name, array in vars(one.forest_).items():
        np.testing.assert_array_equal(array, getattr(three.forest_, name), name)
    np.testing.assert_array_equal(one.predict_proba(X), three.predict_proba(X))


def test_forest_depends_on_the_seed():
    X, Y = labelled_rows()
    first, second, other = (
        small(random_state=seed).fit(X, Y).predict_proba(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


@pytest.mark.parametrize("disjunction_size", [1, 3])
@pytest.mark.parametrize("redraw", [False, True])
@pytest.mark.parametrize("categorical", [None, [0, 3]])
def test_sparse_equals_dense(disjunction_size, redraw, categorical):
    rng = np.random.default_rng(0)
    X = ((rng.random((80, 12)) < 0.2) * rng.integers(1, 4, (80, 12))).astype(np.float32)
    Y = (X[:, :3] > 0).astype(np.int8)
    model = small(
        disjunction_size=disjunction_size, redraw=redraw, categorical_features=categorical
    )
    dense = clone(model).fit(X, Y)
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        other = clone(model).fit(kind(X), Y)
        for name, array in vars(dense.forest_).items():
            np.testing.assert_array_equal(array, getattr(other.forest_, name), name)
        np.testing.assert_array_equal(dense.predict_proba(X), other.predict_proba(kind(X)))


def test_missing_values_follow_every_branch():
    X, Y = labelled_rows()
    model = small(chain=None, label_test_fraction=0, tree_weight="equal").fit(X, Y)
    # All values are missing, so all leaves are reached, and their counts sum to all rows.
    assert model.predict_proba(np.full((1, 5), np.nan)) == pytest.approx(Y.mean(axis=0)[None])


def test_missing_values_in_training():
    X, Y = labelled_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    model = small().fit(X, Y)
    leaves = model.forest_.leaf_size
    assert leaves.sum() == 20 * len(X)  # every row is in one leaf of every tree
    assert (model.predict(X) == Y).mean() > 0.8


@pytest.mark.filterwarnings("ignore:Values that did not occur in fit")
def test_unseen_category_is_missing():
    X, Y = labelled_rows()
    frame = pd.DataFrame({"word": pd.Categorical(np.where(Y[:, 0], "a", "b")), "x": X[:, 1]})
    model = small(unknown_categories="missing").fit(frame, Y)
    assert 2 in model.forest_.kind
    new = frame[:4].assign(word=pd.Categorical(["c"] * 4))
    missing = frame[:4].assign(word=pd.Categorical([None] * 4, categories=["a"]))
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(missing))
    assert (model.predict_proba(new) != model.predict_proba(frame[:4])).any()


def test_unseen_number_of_a_discrete_feature_is_missing():
    X, Y = labelled_rows()
    X[:, 0] = np.digitize(X[:, 0], [-0.5, 0.5]) - 1  # -1, 0, 1
    model = small(categorical_features=[0]).fit(X, Y)
    masked = small(categorical_features=np.arange(5) == 0).fit(X, Y)
    new, missing = X[:5].copy(), X[:5].copy()
    new[:, 0], missing[:, 0] = 7, np.nan
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(missing))
    np.testing.assert_array_equal(model.predict_proba(X), masked.predict_proba(X))
    assert model.forest_.branches[model.forest_.kind == 2].max() == 3


@pytest.mark.parametrize("redraw", [False, True])
def test_constant_features_give_leaves(redraw):
    _, Y = labelled_rows()
    X = np.ones((len(Y), 2))
    model = small(label_test_fraction=0, redraw=redraw, categorical_features=[1]).fit(X, Y)
    assert (model.forest_.kind == 0).all()
    assert model.forest_.leaf_size.tolist() == [len(Y)] * 20
    assert model.predict_proba(X[:1]) == pytest.approx(Y.mean(axis=0)[None])


def test_redraw_grows_larger_trees():
    rng = np.random.default_rng(0)
    X = (rng.random((100, 200)) < 0.02).astype(np.float32)
    Y = rng.integers(0, 2, (100, 2))
    sizes = [
        len(small(redraw=redraw, categorical_features=np.ones(200, bool)).fit(X, Y).forest_.kind)
        for redraw in (False, True)
    ]
    assert sizes[1] > 1.5 * sizes[0]


def test_limits_of_a_tree():
    X, Y = labelled_rows()
    assert len(small(max_depth=0).fit(X, Y).forest_.kind) == 20
    assert small(max_depth=1).fit(X, Y).forest_.kind.size <= 3 * 20
    forest = small(min_samples_split=30).fit(X, Y).forest_
    assert len(forest.kind) < len(small(min_samples_split=4).fit(X, Y).forest_.kind)


def test_leaves_count_labels_and_labelsets(fitted):
    _, Y = labelled_rows()
    forest = fitted.forest_
    per_label = np.bincount(forest.label, forest.label_count, minlength=4)
    np.testing.assert_array_equal(per_label, 50 * Y.sum(axis=0))
    assert forest.labelset_count.sum() == 50 * len(Y) == forest.leaf_size.sum()


def test_one_label():
    X, Y = labelled_rows()
    model = small().fit(X, Y[:, :1])
    assert model.predict(X).shape == (len(X), 1)
    assert (model.predict(X)[:, 0] == Y[:, 0]).mean() > 0.9


def test_equal_weights_if_all_trees_are_uncertain():
    # Each tree has p = .5, so its weight is 0.
    model = small(max_depth=0).fit([[0.0], [1.0]], [[0], [1]])
    assert model.predict_proba([[0.0]]).tolist() == [[0.5]]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"label_test_fraction": 1.1}, r"label_test_fraction=1.1: it must be a number at least"),
        ({"label_test_fraction": -0.1}, "label_test_fraction=-0.1"),
        ({"sigma": 2}, "sigma=2: it must be a number at least 0 and at most 1"),
        ({"n_estimators": 0}, "n_estimators=0: it must be a whole number at least 1"),
        ({"max_depth": -1}, "max_depth=-1"),
        ({"min_samples_split": 1}, "min_samples_split=1"),
        ({"disjunction_size": 0}, "disjunction_size=0"),
        ({"size_exponent": -1}, "size_exponent=-1"),
        (
            {"size_exponent": 17},
            "size_exponent=17: it must be a number at least 0 and at most 16",
        ),
        ({"chain": "both"}, "chain='both': it must be one of 'dynamic', 'static'"),
        ({"threshold": "rank"}, "threshold='rank'"),
        ({"candidates": "all"}, "candidates='all'"),
        ({"transformation": "pairs"}, "transformation='pairs': it must be 'powerset' or None"),
        ({"tree_weight": "entropy"}, "tree_weight='entropy'"),
        ({"redraw": 1}, "redraw=1: it must be True or False"),
        ({"early_stop": "yes"}, "early_stop='yes': it must be True or False"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"order": [0, 1]}, r"order=\[0, 1\]: it must be a permutation .* 0 to 3"),
        ({"order": [0, 1, 1, 3]}, "must be a permutation"),
        ({"order": [0, 1, 2, 4]}, "must be a permutation"),
        ({"categorical_features": [5]}, r"categorical_features=\[5\]: .* positions from 0 to 4"),
        ({"categorical_features": [-1]}, "categorical_features"),
        ({"categorical_features": [True, False]}, r"a mask of shape \(5,\)"),
        ({"categorical_features": [0.5]}, "categorical_features"),
    ],
)
def test_invalid_parameters(params, message):
    X, Y = labelled_rows()
    with pytest.raises(ValueError, match=message):
        small(**params).fit(X, Y)


def test_parameters_are_checked_again_when_predicting(fitted):
    X, _ = labelled_rows()
    with pytest.raises(ValueError, match="sigma=3"):
        set_up(fitted, sigma=3).predict(X)
    with pytest.raises(ValueError, match="permutation"):
        set_up(fitted, chain="static", order=[0, 0, 1, 2]).predict(X)


def test_invalid_data(fitted):
    X, Y = labelled_rows()
    unknown = Y.astype(float)
    unknown[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN \(unknown\) in row 3 for label 'label_1'"):
        small().fit(X, unknown)
    with pytest.raises(ValueError, match="5 features"):
        fitted.predict(X[:, :3])
    with pytest.raises(NotFittedError):
        small().predict(X)


def test_more_labels_than_in_training(fitted):
    X, Y = labelled_rows()
    more = np.hstack((Y, Y[:, :1]))
    with pytest.raises(
        ValueError, match=r"shape \(120, 5\), but the predictions have the shape \(120, 4\)"
    ):
        fitted.trace(X).correct(more)
    with pytest.raises(ValueError, match="Y has 5 labels, but in fit there were 4"):
        fitted.score(X, more)


@pytest.mark.parametrize("params", [{"chain": None}, {"transformation": "powerset"}])
def test_no_order_without_a_chain(fitted, params):
    X, _ = labelled_rows()
    with pytest.raises(ValueError, match="decides all labels at once"):
        set_up(fitted, **params).predict_order(X)


def test_too_many_nodes(monkeypatch):
    monkeypatch.setattr(_forest_growing, "MAX_NODES", 20)
    X, Y = np.arange(40).reshape(20, 2), np.arange(20)[:, np.newaxis] % 3 == [0, 1]
    RandomDecisionTreeClassifier(n_estimators=10, max_depth=0, random_state=0).fit(X, Y)
    model = RandomDecisionTreeClassifier(n_estimators=10, random_state=0)
    with pytest.raises(ValueError, match="nodes in total; a forest can have at most 20"):
        model.fit(X, Y)
