"""`to_onnx`: the graph predicts as the model does, in onnxruntime and in ONNX's own evaluator.

Margins may differ by single precision, so labels are compared where probabilities are not as near
to the threshold: mean frequencies of extra trees are often exactly one half.
"""

import copy
import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from tests.serving.mixed_models import (
    OF_BOOSTERS,
    OTHERS,
    TWO_LEVELS,
    booster,
    mixed,
    rows_for_two_levels,
    trees,
    tuned,
    two_levels,
    with_constant,
)
from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.decision import Precision, ThresholdClassifier
from xdcc.decision.known_labelset_rules import F1Maximiser, MostProbableLabelset
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.linear import LogisticLabels
from xdcc.serving import to_onnx
from xdcc.serving.onnx_graph import Graph
from xdcc.serving.onnx_rules import add_rule

onnx = pytest.importorskip("onnx")


def run_onnxruntime(proto, inputs):
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    return session.run(None, inputs)


def run_reference(proto, inputs):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(proto).run(None, inputs)


@pytest.fixture(params=[run_onnxruntime, run_reference])
def run(request):
    return request.param


def assert_same(run, model, X, dense=None):
    inputs = {"X": X if dense is None else dense}
    labels, proba, margins = run(to_onnx(model), inputs)
    checked = model._check_X(X)
    expected = np.asarray(model._proba(checked))
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(margins, model._margins(checked), rtol=2e-7, atol=2e-7)
    tie = np.abs(expected - 0.5) < 1e-6 if not hasattr(model, "rule_") else False
    assert (labels.dtype, proba.dtype, margins.dtype) == (np.int64, np.float32, np.float32)
    np.testing.assert_array_equal(
        np.where(tie, -1, labels), np.where(tie, -1, model._labels(checked))
    )


@pytest.mark.parametrize("name", OF_BOOSTERS + OTHERS)
def test_every_model(run, mixed_models, name):
    X = mixed_models.X_new
    if name == "linear for text":
        X = np.abs(X)
        X[3] = 0  # a row of no length
    assert_same(run, mixed_models[name], X)


@pytest.mark.parametrize("name", TWO_LEVELS)
def test_two_levels(run, mixed_models, name):
    """On the rows of training, margins of members are thresholds of the second level."""
    model = mixed_models[name]
    for X in (mixed_models.X, mixed_models.X_new):
        assert_same(run, model, X)
    one_level = copy.copy(model)
    one_level.stacked_ = []
    assert np.abs(model._margins(X) - one_level._margins(X)).max() > 0.1


def test_a_fitted_second_level():
    X, Y = rows_for_two_levels()
    model = MultiLabelClassifier(cv=2, n_jobs=1).fit(X, Y)
    assert model.stacked_
    assert_same(run_onnxruntime, model, X)


@pytest.mark.parametrize(
    "rule",
    [
        "label_wise",
        "threshold",
        "threshold_per_label",
        "known_labelset",
        "fitted_labelset",
        "f1_maximiser",
    ],
)
@pytest.mark.parametrize("measure", ["example_f1", "example_f2"])
def test_every_rule(run, rows, mixed_models, rule, measure):
    model = tuned(LogisticLabels(C=1.0, n_jobs=1), rules=[rule], measure=measure)
    assert_same(run, model.fit(rows.X, with_constant(rows.Y)), rows.X_new)
    on_two_levels = copy.copy(mixed_models["two levels"])
    on_two_levels.rule_ = model.rule_
    assert_same(run, on_two_levels, rows.X)


@pytest.mark.parametrize("rule", ["threshold", "known_labelset"])
def test_constraints(run, rows, rule):
    constraints = {"label_0": 0.3, "label_2": Precision(0.6)}
    model = tuned(LogisticLabels(C=1.0, n_jobs=1), rules=[rule], constraints=constraints)
    assert_same(run, model.fit(rows.X, rows.Y), rows.X_new)


@pytest.mark.parametrize("estimator", [booster(), trees(), tuned(booster())])
def test_tuned_thresholds(run, rows, estimator):
    model = ThresholdClassifier(estimator, method="per_label", min_positive=0, random_state=0)
    model.fit(rows.X, rows.Y)
    labels, proba, _ = run(to_onnx(model), {"X": rows.X_new})
    near = np.abs(proba - model.thresholds_) < 1e-6
    expected = model.predict(rows.X_new)
    np.testing.assert_array_equal(np.where(near, -1, labels), np.where(near, -1, expected))
    assert near.mean() < 0.1
    assert 0 < labels.mean() < 1


def test_values_that_are_thresholds(run, mixed_models):
    """A booster goes right where a value equals the threshold, extra trees go left."""
    for name in ("booster", "trees"):
        model = mixed_models[name]
        if name == "trees":
            tests = model.forest_.kind > 0
            feature, threshold = model.forest_.feature[tests], model.forest_.threshold[tests]
        else:
            table = model.booster_.trees_to_dataframe().dropna(subset="Split")
            feature = table["Feature"].str[1:].astype(int).to_numpy()
            threshold = table["Split"].to_numpy(np.float32)
        X = np.tile(mixed_models.X_new[5], (len(feature), 1))
        X[np.arange(len(X)), feature] = threshold
        X = np.concatenate((X, np.nextafter(X, np.float32(9)), np.nextafter(X, np.float32(-9))))
        assert_same(run, model, X)


def test_rows_without_any_value(run, mixed_models):
    X = np.full((2, 5), np.nan, np.float32)
    for name in ("booster", "trees", "linear"):
        assert_same(run, mixed_models[name], X)


@pytest.mark.parametrize("estimator", [booster(), booster(sparse_zeros="zero"), trees(), None])
def test_sparse_rows(run, rows, mixed_models, estimator):
    dense = [np.nan_to_num(X) * (X > 0) for X in (rows.X, rows.X_new)]
    X, X_new = map(sparse.csr_matrix, dense)
    if estimator is None:
        estimator = LogisticLabels(n_jobs=1)
    assert_same(run, tuned(estimator).fit(X, rows.Y), X_new, dense[1])


def test_sparse_rows_on_two_levels(run, rows, mixed_models):
    dense = [np.nan_to_num(X) * (X > 0) for X in (rows.X, rows.X_new)]
    X, X_new = map(sparse.csr_matrix, dense)
    Y = with_constant(rows.Y)
    kinds = booster(), trees(), LogisticLabels(n_jobs=1)
    mixture = mixed(mixed_models["mixture"], *(tuned(kind).fit(X, Y) for kind in kinds))
    assert_same(run, two_levels(mixture, X, Y), X_new, dense[1])


def test_trees_without_a_test(run, rows):
    forest = trees(min_samples_leaf=100, max_features=1).fit(rows.X, rows.Y)
    alone = trees(min_samples_leaf=len(rows.X)).fit(rows.X, rows.Y)
    assert (np.diff(alone.forest_.start) == 1).all()
    for model in (forest, alone):
        assert_same(run, model, rows.X_new)


@pytest.mark.parametrize("with_empty", [True, False])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_rules_on_random_margins(run, with_empty, beta):
    rng = np.random.default_rng(int(10 * beta))
    Y = rng.integers(0, 2, (40, 6)) * rng.integers(0, 2, (40, 1))
    known = KnownLabelsets.of(Y if with_empty else Y[Y.any(axis=1)])
    margins = rng.normal(scale=3, size=(200, 6))
    for rule in (F1Maximiser(known, 0.5, 0.25, beta), MostProbableLabelset(known, beta)):
        assert_rule(run, rule, margins)


def test_only_the_empty_labelset_is_known(run):
    known = KnownLabelsets.of(np.zeros((3, 4)))
    margins = np.random.default_rng(0).normal(size=(5, 4))
    for rule in (F1Maximiser(known, 1.0, 0.0), MostProbableLabelset(known, 0.0)):
        assert_rule(run, rule, margins)


def assert_rule(run, rule, margins):
    n_labels = margins.shape[1]
    graph = Graph()
    labels = add_rule(graph, rule, graph.input("margins", np.float64, n_labels), n_labels)
    graph.output("labels", labels, np.int64, n_labels)
    (found,) = run(graph.model("rule", "1", {}), {"margins": margins})
    np.testing.assert_array_equal(found, rule.decide(margins))


def test_what_the_model_says_of_itself(mixed_models, rows):
    proto = to_onnx(mixed_models["booster"])
    assert {entry.domain: entry.version for entry in proto.opset_import} == {
        "": 18,
        "ai.onnx.ml": 3,
    }
    table = pd.DataFrame(rows.X, columns=list("abcde"))
    Y = pd.DataFrame(rows.Y, columns=list("wxyz"))
    found = to_onnx(booster().fit(table, Y)).metadata_props
    properties = {entry.key: json.loads(entry.value) for entry in found}
    assert properties == {"label_names": list("wxyz"), "feature_names": list("abcde")}


def test_categories_are_named(rows, mixed_models):
    table = pd.DataFrame({"size": rows.X[:, 0], "colour": pd.Categorical(["red", "blue"] * 60)})
    for model in (booster(), trees(), LogisticLabels(C=1.0), tuned(booster())):
        with pytest.raises(TypeError, match=r"^The column 'colour' of X is categorical"):
            to_onnx(model.fit(table, rows.Y))
    mixture = mixed(mixed_models["mixture"], tuned(booster()).fit(table, with_constant(rows.Y)))
    mixture.stacked_ = mixed_models["two levels"].stacked_
    with pytest.raises(TypeError, match=r"^The column 'colour' of X is categorical"):
        to_onnx(mixture)
    X = np.column_stack((rows.X[:, 0], np.arange(120) % 3))
    Y = np.column_stack((rows.Y, X[:, 1] == 1))
    with pytest.raises(TypeError, match=r"^Column 1 of X has categories"):
        to_onnx(trees(categorical_features=[1]).fit(X, Y))


def test_other_models_are_named(fitted_chain, rows):
    with pytest.raises(TypeError, match=r"^DynamicChainClassifier has no form"):
        to_onnx(fitted_chain("short standard"))
    foreign = tuned(OneVsRestClassifier(LogisticRegression())).fit(np.nan_to_num(rows.X), rows.Y)
    with pytest.raises(TypeError, match=r"^OneVsRestClassifier has no form"):
        to_onnx(foreign)
    with pytest.raises(TypeError, match=r"^The decision rule 'joint_labelset'"):
        add_rule(Graph(), JointLabelset(None, None, None, 0.5), "margins", 4)


@pytest.mark.parametrize("model", [booster(), tuned(booster()), ThresholdClassifier(trees())])
def test_unfitted(model):
    with pytest.raises(NotFittedError):
        to_onnx(model)


def test_without_onnx(mixed_models, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        to_onnx(mixed_models["booster"])
