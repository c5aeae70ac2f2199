"""Compiled models of rules, random decision trees and LaCovaC trees: as the estimators, faster."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from xdcc.base import features
from xdcc.base.margins import margins_of
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.data import make_multilabel
from xdcc.serving import CompiledModel, ModelFileError, load_model, save_model
from xdcc.serving.compiled_file import compiled_content

MODELS = {
    "rdt": RandomDecisionTreeClassifier(n_estimators=20, random_state=0),
    "rdt static": RandomDecisionTreeClassifier(n_estimators=20, chain="static", early_stop=True),
    "rdt at once": RandomDecisionTreeClassifier(n_estimators=20, chain=None, tree_weight="equal"),
    "rdt powerset": RandomDecisionTreeClassifier(n_estimators=20, transformation="powerset"),
    "boomer": BoomerClassifier(n_rules=30, random_state=0),
    "boomer example-wise": BoomerClassifier(
        n_rules=30, head="complete", loss="logistic_example_wise"
    ),
    "boomer F1": BoomerClassifier(n_rules=30, prediction="example_f1"),
    "boomer squared": BoomerClassifier(n_rules=30, loss="squared_label_wise"),
    "lacovac": LaCovaCClassifier(smoothing=0.5),
    "lacovac forest": LaCovaCForestClassifier(n_estimators=15, random_state=0),
    "lacovac forest, labels": LaCovaCForestClassifier(
        n_estimators=15, voting="label", random_state=0
    ),
}
every_model = pytest.mark.parametrize("name", MODELS)


def fitted(name, X, Y):
    return type(MODELS[name])(**MODELS[name].get_params()).fit(X, Y)


@pytest.fixture(scope="module")
def data():
    made = make_multilabel(200, n_features=12, n_labels=5, random_state=0)
    X = made.X.astype(np.float32)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = 0
    X[::7, 3] = np.nan
    return X, made.Y


def assert_as(model, fast, X):
    for method in ("predict", "predict_proba"):
        found, expected = getattr(fast, method)(X), getattr(model, method)(X)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    scores = (
        model.decision_function(X)
        if isinstance(model, BoomerClassifier)
        else margins_of(model.predict_proba(X))
    )
    np.testing.assert_array_equal(fast.decision_function(X), scores)


def error_of(model, X):
    try:
        model.predict(X)
    except ValueError as error:
        return str(error).replace(type(model).__name__, "the model")
    raise AssertionError("X was taken")


@every_model
def test_every_form_of_x(name, data):
    X, Y = data
    model = fitted(name, X[:100], Y[:100])
    fast = CompiledModel(model, n_jobs=2)
    stored = sparse.csr_matrix(np.nan_to_num(X))
    unsorted = sparse.csr_matrix(([1.0, 2.0], [4, 1], [0, 2]), (1, 12), dtype=np.float32)
    twice = sparse.csr_matrix(([1.0, 2.0], [4, 4], [0, 2]), (1, 12), dtype=np.float32)
    for rows in (
        *(X, X[:1], X.astype(np.float64), np.asfortranarray(X), X[::2], X[:3].tolist()),
        *(stored, stored.tocsc(), stored[:1], sparse.csr_array(stored), unsorted, twice),
    ):
        assert_as(model, fast, rows)
    for broken in (np.where(np.isnan(X), np.inf, X), X[:, 1:], X[:0], X[0], X.astype(str) + "x"):
        assert error_of(fast, broken) == error_of(model, broken)
    too_large = X.astype(np.float64) * 1e300
    with np.errstate(all="ignore"):
        assert "infinity" in error_of(model, too_large)
        assert error_of(fast, too_large) == error_of(model, too_large)


@every_model
def test_rows_do_without_the_check(name, data, monkeypatch):
    X, Y = data
    model = fitted(name, X, Y)
    fast, expected = CompiledModel(model), model.predict(X)
    monkeypatch.setattr(features, "check_features", None)
    monkeypatch.setattr(type(model), "_check_X", None)
    np.testing.assert_array_equal(fast.predict(X), expected)
    np.testing.assert_array_equal(fast.predict(X.astype(np.float64)), expected)


@every_model
def test_categories(name, data):
    X, Y = data
    frame = pd.DataFrame(X).add_prefix("f")
    frame["colour"] = pd.Categorical(np.where(Y[:, 0] > Y[:, 1], "red", "blue"))
    model = fitted(name, frame, Y)
    fast = CompiledModel(model)
    for rows in frame, frame[:1], frame[:3].assign(colour=["blue", None, "red"]):
        assert_as(model, fast, rows)


@every_model
def test_files_and_pickles(name, data, tmp_path):
    X, Y = data
    model = fitted(name, X, Y)
    fast = CompiledModel(model, n_jobs=1)
    save_model(fast, tmp_path / "model")
    for loaded in load_model(tmp_path / "model", compiled=True), pickle.loads(pickle.dumps(fast)):
        assert loaded.n_jobs == 1
        assert_as(model, loaded, X)
        assert_as(model, loaded, X[:1])
    save_model(model, tmp_path / "estimator")
    assert_as(model, load_model(tmp_path / "estimator", compiled=True), X)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rdt", lambda model: setattr(model, "order", [0, 1, 2, 3, 99])),
        ("rdt", lambda model: setattr(model, "size_exponent", 99.0)),
        ("rdt", lambda model: model.forest_.index.__setitem__(slice(None), 10**6)),
        ("boomer", lambda model: model.rules_.feature.__setitem__(0, 12)),
        ("boomer", lambda model: setattr(model, "loss", "other")),
        ("lacovac", lambda model: model.tree_.list_label.__setitem__(0, 5)),
    ],
)
def test_files_that_do_not_fit(name, change, data, tmp_path):
    fast = CompiledModel(fitted(name, *data))
    change(fast._predictor.model)
    (tmp_path / "model").write_bytes(compiled_content(fast))
    with pytest.raises(ModelFileError, match=r"order|size_exponent|index|feature|loss|list_label"):
        load_model(tmp_path / "model", compiled=True)


def test_one_dimension_and_another_fit(data):
    X, Y = data
    model = BoomerClassifier(n_rules=20, random_state=0).fit(X, np.where(Y[:, 0], "yes", "no"))
    fast = CompiledModel(model)
    expected = model.predict(X)
    assert fast.predict_proba(X).shape == (200, 2)
    np.testing.assert_array_equal(fast.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(fast.predict(X), expected)
    model.set_params(n_rules=5).fit(-X, np.where(Y[:, 1], "yes", "no"))
    np.testing.assert_array_equal(fast.predict(X), expected)
