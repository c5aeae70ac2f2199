"""The estimator: what it learns, by which parameters, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import NotFittedError

import xdcc
from xdcc.base.folds import Folds
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.forest.forest import MemoryNeed, TreeShape, join, label_rows, mean_proba
from xdcc.forest.leaves import leaf_shares


def labelled_rows(seed=0, n_rows=150, n_labels=4):
    """Labels that follow the features, and each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6)).astype(np.float32)
    Y = (X[:, :n_labels] + 0.3 * rng.normal(size=(n_rows, n_labels)) > 0.4).astype(np.int8)
    Y[:, -1] = Y[:, 0] & Y[:, 1]
    return X, Y


def small(**params):
    return SketchedExtraTreesClassifier(
        **{"n_estimators": 40, "random_state": 0, "n_jobs": 1} | params
    )


def log_loss(Y, proba):
    proba = np.clip(proba, 0.01, 0.99)
    return -np.mean(np.where(Y == 1, np.log(proba), np.log(1 - proba)))


@pytest.mark.parametrize("sketch_size", ["auto", None, 1, 4])
def test_learns(sketch_size):
    model = small(sketch_size=sketch_size).fit(*labelled_rows())
    X, Y = labelled_rows(1)
    assert (model.predict(X) == Y).mean() > 0.85
    proba = model.predict_proba(X)
    assert ((proba >= 0) & (proba <= 1)).all()


def test_all_labels_are_as_good_as_scikit_learns_extra_trees():
    X, Y = labelled_rows(n_rows=300)
    rows, truth = labelled_rows(1, n_rows=300)
    exact = small(n_estimators=200, max_features="sqrt", sketch_size=None).fit(X, Y)
    proba = exact.predict_proba(rows)
    expected, again = (
        np.column_stack([each[:, 1] for each in other.fit(X, Y).predict_proba(rows)])
        for other in (
            ExtraTreesClassifier(200, max_features="sqrt", random_state=seed) for seed in (0, 1)
        )
    )
    # Two forests of scikit-learn differ by chance. Ours draws thresholds among quantiles, not
    # values: 1.2 times as much here.
    assert np.abs(proba - expected).mean() < 1.4 * np.abs(again - expected).mean()
    assert log_loss(truth, proba) < 1.02 * log_loss(truth, expected)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_sparse_and_dense_rows_give_the_same_forest(convert):
    X, Y = labelled_rows()
    X = X * (np.random.default_rng(1).random(X.shape) < 0.15)
    expected = small().fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(small().fit(convert(X), Y).predict_proba(convert(X)), expected)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_matter(n_jobs):
    X, Y = labelled_rows()
    expected = small(oob_proba=True).fit(X, Y)
    model = small(oob_proba=True, n_jobs=n_jobs).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(model.oob_proba_, expected.oob_proba_)


def test_leaves_fit_whole_trees():
    """Trees of one row a leaf know the training rows by heart."""
    X, Y = labelled_rows()
    model = small(min_samples_leaf=1).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), Y, atol=1e-12)


def test_rows_of_a_leaf():
    X, Y = labelled_rows()
    forest = small(min_samples_leaf=7, sketch_size=1).fit(X, Y).forest_
    assert forest.leaf_weight.min() >= 7
    assert forest.leaf_weight.sum() == 40 * len(X)


def test_out_of_bag_probabilities_are_those_of_other_trees():
    X, Y = labelled_rows()
    model = small(oob_proba=True).fit(X, Y)
    assert model.oob_proba_.shape == Y.shape
    # In-sample predictions are nearly perfect, those out of sample are not.
    assert log_loss(Y, model.predict_proba(X)) < 0.8 * log_loss(Y, model.oob_proba_)
    rows, truth = labelled_rows(1)
    loss = log_loss(truth, model.predict_proba(rows))
    assert log_loss(Y, model.oob_proba_) == pytest.approx(loss, rel=0.3)
    assert not hasattr(model.set_params(oob_proba=False).fit(X, Y), "oob_proba_")


def test_weights():
    X, Y = labelled_rows()
    noise = np.random.default_rng(1).permutation(Y)
    weight = np.repeat([1.0, 0.0], len(Y))
    twice = np.concatenate((X, X)), np.concatenate((Y, noise))
    expected = small().fit(X, Y, np.ones(len(Y))).predict_proba(X)
    weighted = small(oob_proba=True).fit(*twice, weight)
    np.testing.assert_array_equal(small().fit(*twice, weight).predict_proba(X), expected)
    assert weighted.oob_proba_.shape == twice[1].shape
    little = small().fit(*twice, np.repeat([1.0, 1e-3], len(Y)))
    equal = small().fit(*twice)
    rows, truth = labelled_rows(1)
    assert log_loss(truth, little.predict_proba(rows)) < log_loss(truth, equal.predict_proba(rows))


def test_unknown_labels():
    X, Y = labelled_rows()
    unknown = Y.astype(np.float32)
    unknown[np.random.default_rng(1).random(Y.shape) < 0.3] = np.nan
    model = small().fit(X, unknown)
    rows, truth = labelled_rows(1)
    assert (model.predict(rows) == truth).mean() > 0.8
    # A leaf that knows nothing of a label says nothing about it.
    alone = small(min_samples_leaf=1).fit(X, unknown).predict_proba(X)
    known = ~np.isnan(unknown)
    np.testing.assert_allclose(alone[known], unknown[known], atol=1e-12)


def test_missing_values():
    X, Y = labelled_rows()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    model = small().fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.95
    assert np.isfinite(model.predict_proba(np.full((1, 6), np.nan))).all()


def test_categories():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "grey"], 200)
    X = pd.DataFrame({"colour": pd.Categorical(colour), "x": rng.normal(size=200)})
    Y = np.column_stack((np.isin(colour, ["red", "grey"]), colour == "blue")).astype(int)
    model = small().fit(X, Y)
    assert (model.predict(X) == Y).all()
    new = pd.DataFrame({"colour": pd.Categorical(["violet"]), "x": [0.0]})
    with pytest.warns(UserWarning, match="did not occur in fit, in column 'colour'"):
        assert np.isfinite(model.predict_proba(new)).all()
    codes = np.column_stack((pd.factorize(colour)[0] * 10, X["x"])).astype(np.float32)
    given = small(categorical_features=[0]).fit(codes, Y)
    assert (given.predict(codes) == Y).all()


def test_pure_trees_know_the_labels_of_rows_with_categories():
    rng = np.random.default_rng(0)
    columns = rng.choice(list("abcdefghijklm"), (500, 6))
    X = pd.DataFrame({f"c{j}": pd.Categorical(column) for j, column in enumerate(columns.T)})
    Y = rng.integers(0, 2, (500, 3))
    assert len(X.drop_duplicates()) == 500
    model = small(min_samples_leaf=1).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), Y, atol=1e-12)


@pytest.mark.parametrize("missing", [0, 0.2])
def test_importances(missing):
    X, Y = labelled_rows(n_rows=400, n_labels=3)
    labels = Y.astype(np.float32)
    labels[np.random.default_rng(1).random(Y.shape) < missing] = np.nan
    model = small(min_samples_leaf=5).fit(X, labels)
    by_label = model.label_importances_
    assert by_label.shape == (3, 6)
    np.testing.assert_allclose(by_label.sum(axis=1), 1)
    assert by_label[:2].argmax(axis=1).tolist() == [0, 1]
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert set(np.argsort(model.feature_importances_)[-2:].tolist()) == {0, 1}


def test_importances_are_those_of_scikit_learn():
    X, Y = labelled_rows(n_rows=300)
    model = small(n_estimators=300, max_features=None, sketch_size=None).fit(X, Y)
    other = ExtraTreesClassifier(300, max_features=None, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.feature_importances_, other.feature_importances_, atol=0.02)


def test_importances_in_parts(monkeypatch):
    X, Y = labelled_rows()
    model = small().fit(X, Y)
    expected = model.label_importances_
    monkeypatch.setattr("xdcc.forest.importance._ENTRIES_AT_ONCE", 1)
    np.testing.assert_allclose(model.label_importances_, expected)


def test_nothing_to_learn():
    X, Y = labelled_rows()
    model = small().fit(np.zeros((len(Y), 3)), Y)
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 3)))[0], Y.mean(axis=0))
    assert not model.feature_importances_.any()
    assert not small().fit(X, np.zeros((len(Y), 2))).predict(X).any()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"max_features": 0}, "max_features=0"),
        ({"max_features": 1.5}, "max_features=1.5"),
        ({"sketch_size": 0}, "sketch_size=0"),
        ({"min_samples_leaf": 0.1}, "min_samples_leaf=0.1"),
        ({"max_samples": 0.0}, "max_samples=0.0"),
        ({"max_bin": 256}, "max_bin=256"),
        ({"categorical_features": [9]}, "categorical_features="),
        ({"oob_proba": True, "max_samples": 1.0}, "oob_proba=True with max_samples=1.0"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        small(**params).fit(*labelled_rows())


def test_no_memory_for_so_many_trees():
    model = small(n_estimators=10**12)
    with pytest.raises(MemoryError, match=r"^1000000000000 trees of 150 rows may take \d+"):
        model.fit(*labelled_rows())
    assert not hasattr(model, "forest_")


@pytest.mark.parametrize(("method", "factor"), [("fit", 2), ("out_of_fold", 4)])
def test_memory_is_compared_with_what_is_available(monkeypatch, method, factor):
    """A forest is in memory twice while its trees are joined; those of other folds stay."""
    X, Y = labelled_rows()
    folds = np.arange(len(Y)) % 3
    model = small()

    def train():
        if method == "fit":
            return model.fit(X, Y)
        data = clone(model)._begin_fit(X, Y)
        return model._out_of_fold(data, Folds(folds))

    need = model._plan(X.astype(np.float32), Y.astype(np.float32), None).memory
    total = factor * need.forest + need.growing + need.data
    monkeypatch.setattr("xdcc.base.memory.available_memory", lambda: total)
    train()
    monkeypatch.setattr("xdcc.base.memory.available_memory", lambda: total - 1)
    with pytest.raises(MemoryError, match=r"may take \d MiB, but \d MiB are available\. Take"):
        clone(model).fit(X, Y) if method == "fit" else train()


@pytest.mark.parametrize(
    ("shape", "n_labels", "advice"),
    [
        (TreeShape(10**9, 1, 0.1, 1, 1), 5, "Take fewer trees, a smaller max_samples"),
        (TreeShape(10**6, 1, 0.1, 1000, 0), 10**5, "Take a smaller sketch_size"),
    ],
)
def test_memory_is_estimated_from_the_shape(monkeypatch, shape, n_labels, advice):
    monkeypatch.setattr("xdcc.base.memory.available_memory", lambda: 2.0**34)
    X = np.zeros((1, 2000), np.float32)
    with pytest.raises(MemoryError, match=advice):
        MemoryNeed.of(shape, 200, X, n_labels, n_sparse=1000, threads=2).require("They")
    small_shape = shape._replace(n_sampled=5000, sketch_size=4)
    MemoryNeed.of(small_shape, 200, X, 1000, n_sparse=1000, threads=2).require("They")


@pytest.mark.parametrize("leaf", [1, 20], ids=["rows in leaves", "shares in leaves"])
def test_joined_forests_predict_like_their_trees(leaf):
    """Each forest knows a third of the rows; there are sets of categories, and weights."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 6)).astype(np.float32)
    X[:, 2] = np.repeat(np.arange(6), [48, 36, 24, 21, 12, 9])  # equal bins in each part
    Y = (rng.random((150, 4)) < 0.3).astype(np.int8)
    weight = rng.uniform(0.5, 2, len(X))
    forests = [
        small(n_estimators=4 + part, categorical_features=[2], min_samples_leaf=leaf)
        .fit(X[part::3], Y[part::3], weight[part::3])
        .forest_
        for part in range(3)
    ]
    joined = join(forests)
    assert len(joined.start) - 1 == 15
    assert (len(joined.label) > 0) == (leaf == 20)
    found, *parts = (mean_proba(forest, X, 1) for forest in (joined, *forests))
    np.testing.assert_allclose(found, np.average(parts, axis=0, weights=[4, 5, 6]), atol=1e-6)


def test_joined_forests_know_the_rows_of_all():
    X, Y = labelled_rows()
    Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
    parts = [slice(0, 60), slice(60, 70), slice(70, 150)]
    labels = join([small().fit(X[part], Y[part]).forest_ for part in parts]).labels
    expected = label_rows(Y.astype(np.float32), None)
    for name in ("positive_start", "positive", "unknown_start", "unknown", "weight"):
        np.testing.assert_array_equal(getattr(labels, name), getattr(expected, name))


def test_many_labels_take_little_memory():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 10))
    Y = (random.random((300, 1000)) < 0.02).astype(np.int8)
    forest = small(n_estimators=200).fit(X, Y).forest_
    n_bytes = sum(value.nbytes for value in vars(forest).values() if isinstance(value, np.ndarray))
    assert n_bytes < 200 * 300 * 60  # not 200 * 300 * 1,000 label values


def test_importances_before_fit():
    for name in ("feature_importances_", "label_importances_"):
        with pytest.raises(NotFittedError):
            getattr(small(), name)


def test_what_auto_stands_for():
    X, Y = labelled_rows(n_rows=600)
    thin = X * (np.random.default_rng(1).random(X.shape) < 0.1)
    many = np.tile(Y, 3)
    for rows, labels, params in [
        (X, Y, {"max_features": 4, "min_samples_leaf": 1, "sketch_size": None}),
        (X[:150], Y[:150], {"max_features": 4, "min_samples_leaf": 2, "sketch_size": None}),
        (X, many, {"max_features": 4, "min_samples_leaf": 1, "sketch_size": 4}),
        (thin, many, {"max_features": 1 / 3, "min_samples_leaf": 3, "sketch_size": 8}),
        (thin[:300], Y[:300], {"max_features": 1 / 3, "min_samples_leaf": 1, "sketch_size": None}),
    ]:
        expected = small(**params).fit(rows, labels).predict_proba(X)
        np.testing.assert_array_equal(small().fit(rows, labels).predict_proba(X), expected)


def test_it_can_be_had_from_the_package():
    assert xdcc.SketchedExtraTreesClassifier is SketchedExtraTreesClassifier


@pytest.mark.parametrize("sketch_size", [None, 2])
def test_probabilities_as_labels(sketch_size):
    """A label of a half is a row of half the weight with it, and one without."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    soft = rng.choice([0, 0.25, 0.5, 1, np.nan], size=(60, 3))

    def model(**parameters):
        return SketchedExtraTreesClassifier(
            5, min_samples_leaf=6, sketch_size=sketch_size, random_state=0, n_jobs=1, **parameters
        )

    fitted = model(soft_labels=True).fit(X, soft)
    shares, forest = leaf_shares(fitted.forest_), fitted.forest_
    weight = forest.leaf_weight[:, np.newaxis]
    positive = (shares.positive.toarray() * weight).sum(axis=0)
    np.testing.assert_allclose(positive, 5 * np.nansum(soft, axis=0), rtol=1e-5)
    known = ((1 - shares.unknown.toarray()) * weight).sum(axis=0)
    np.testing.assert_allclose(known, 5 * (~np.isnan(soft)).sum(axis=0), rtol=1e-5)
    hard = (soft > 0.5).astype(float)
    np.testing.assert_array_equal(
        model(soft_labels=True).fit(X, hard).predict_proba(X), model().fit(X, hard).predict_proba(X)
    )
    with pytest.raises(ValueError, match="soft_labels=True"):
        model().fit(X, soft)


def test_probabilities_without_unknown_ones_are_averaged_in_leaves():
    X = np.arange(40.0)[:, np.newaxis]
    soft = np.linspace(0.1, 0.9, 40)[:, np.newaxis]
    fitted = SketchedExtraTreesClassifier(
        20, min_samples_leaf=4, soft_labels=True, random_state=0, n_jobs=1
    ).fit(X, soft)
    assert np.abs(fitted.predict_proba(X) - soft).mean() < 0.05
