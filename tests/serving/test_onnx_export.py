"""`to_onnx`: the graph predicts as the model does, in onnxruntime and in ONNX's own evaluator.

Margins may differ by single precision, so labels are compared where probabilities are not as near
to the threshold: mean frequencies of extra trees are often exactly one half.
"""

import copy
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from tests.serving.conftest import CHAINS
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
from tests.serving.onnx_runs import assert_same, properties_of, run_onnxruntime
from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.base.margins import margins_of
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.flat_chain import ChainPredictor, chain_layout
from xdcc.comparators.baselines import BinaryRelevance
from xdcc.decision import Precision, ThresholdClassifier
from xdcc.decision.constrained_rule import ConstrainedRule
from xdcc.decision.known_labelset_rules import F1Maximiser, MostProbableLabelset
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.rule import Rule
from xdcc.linear import LogisticLabels
from xdcc.prediction._kernel import logistic
from xdcc.prediction.layout import ChainPart
from xdcc.prediction.propagation_rule import CUMULATIONS, PREDICTIONS, PropagationRule
from xdcc.serving import to_onnx
from xdcc.serving.onnx_chain import add_logistic
from xdcc.serving.onnx_export import add_outputs
from xdcc.serving.onnx_graph import Graph
from xdcc.serving.onnx_layout import Features
from xdcc.serving.onnx_rules import add_rule

onnx = pytest.importorskip("onnx")


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


@pytest.mark.parametrize(
    "estimator",
    [booster(), trees(), tuned(booster()), DynamicChainClassifier(n_estimators=3, n_jobs=1)],
    ids=lambda estimator: type(estimator).__name__,
)
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
    labels = add_rule(rule, graph, graph.input("margins", np.float64, n_labels), n_labels)
    graph.output("labels", labels, np.int64, n_labels)
    (found,) = run(graph.model("rule", "1", {}), {"margins": margins})
    np.testing.assert_array_equal(found, rule.decide(margins))


@pytest.mark.parametrize("name", CHAINS)
def test_every_chain_predicts_the_same(fitted_chain, rows, on_sparse, name):
    dense = np.nan_to_num(rows.X_new)
    for model, X in (
        (fitted_chain(name), rows.X_new),
        (on_sparse(fitted_chain(name)), sparse.csr_matrix(dense)),
    ):
        inputs = {"X": dense if sparse.issparse(X) else X}
        labels, proba, margins = run_onnxruntime(to_onnx(model), inputs)
        np.testing.assert_array_equal(proba, model.predict_proba(X))
        np.testing.assert_array_equal(labels, model.predict(X))
        np.testing.assert_allclose(margins, margins_of(model.predict_proba(X)), rtol=1e-6)


@pytest.mark.parametrize("end_label", [False, True])
@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.parametrize("cumulation", CUMULATIONS)
@pytest.mark.parametrize(
    "rule",
    [
        PropagationRule("open", "positive", 1),
        PropagationRule("open", "positive", 2),
        PropagationRule("open", "certainty", 1),
        PropagationRule("open", "certainty", 3),
        PropagationRule("all", "positive", 1),
    ],
    ids=str,
)
def test_the_steps_of_a_chain_with_many_ties(
    run, fitted_chain, rows, rule, cumulation, prediction, end_label
):
    """Leaves are whole numbers: several labels have the same probability, many exactly 0.5."""
    layout = chain_layout(fitted_chain("end label" if end_label else "folds averaged"))
    values = np.random.default_rng(0).choice([0, 0, 1, -1], layout.leaf_value.shape)
    layout = replace(
        layout,
        leaf_value=values.astype(np.float32),
        trees=[replace(part, start=np.zeros_like(part.start)) for part in layout.trees],
        chain=ChainPart(rule, end_label, prediction, cumulation),
    )
    predictor = ChainPredictor([layout])
    graph = Graph()
    X = graph.input("X", np.float32, layout.n_given)
    found = add_outputs(predictor, graph, Features(X, X))
    for name in ("probabilities", "labels"):
        graph.output(name, found[name][0], np.float32, layout.n_outputs)
    proba, labels = run(graph.model("chain", "1", {}), {"X": rows.X_new})
    expected = predictor.outputs(rows.X_new, 1)
    assert (expected == 0.5).any()
    np.testing.assert_array_equal(proba, expected)
    np.testing.assert_array_equal(labels, predictor.labels(expected))


def test_the_logistic_function_is_the_plugins(run):
    margins = np.concatenate(
        [np.linspace(-120, 120, 10_001), np.random.default_rng(0).normal(size=10_000)]
    ).astype(np.float32)[:, np.newaxis]
    graph = Graph()
    graph.output("proba", add_logistic(graph, graph.input("m", np.float32, 1)), np.float32, 1)
    (found,) = run(graph.model("logistic", "1", {}), {"m": margins})
    expected = margins.copy()
    logistic(expected)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_tuned_chain(run, rows, ensemble):
    chain = DynamicChainClassifier(n_estimators=4, max_depth=3, chain_length=2, n_jobs=1)
    model = tuned(chain, ensemble=ensemble).fit(rows.X, with_constant(rows.Y))
    assert_same(run, model, rows.X_new)


def test_what_the_model_says_of_itself(mixed_models, rows):
    proto = to_onnx(mixed_models["booster"])
    assert {entry.domain: entry.version for entry in proto.opset_import} == {
        "": 18,
        "ai.onnx.ml": 3,
    }
    table = pd.DataFrame(rows.X, columns=list("abcde"))
    Y = pd.DataFrame(rows.Y, columns=list("wxyz"))
    properties = properties_of(to_onnx(booster().fit(table, Y)))
    assert properties == {"label_names": list("wxyz"), "feature_names": list("abcde")}


class Likeliest(Rule):
    name = "likeliest"

    def decide(self, margins):
        return (margins == margins.max(axis=1, keepdims=True)).astype(np.int8)


def test_other_models_are_named(rows):
    few = OrderFreeChainClassifier(n_estimators=2, n_masks=2, cv=2, n_jobs=1).fit(rows.X, rows.Y)
    with pytest.raises(TypeError, match=r"^OrderFreeChainClassifier has no form.*its search"):
        to_onnx(few)
    with pytest.raises(TypeError, match=r"^BinaryRelevance has no form"):
        to_onnx(BinaryRelevance(n_estimators=1).fit(rows.X, rows.Y))
    with pytest.raises(TypeError, match=r"^int has no form.*not an estimator of xdcc"):
        to_onnx(3)
    ruled = tuned(booster(), rules=[Likeliest]).fit(rows.X, rows.Y)
    with pytest.raises(TypeError, match=r"^The decision rule 'likeliest'"):
        to_onnx(ruled)
    ruled.rule_ = ConstrainedRule(Likeliest(), np.array([0]), np.array([0.5]))
    with pytest.raises(TypeError, match=r"^The decision rule 'likeliest'"):
        to_onnx(ruled)
    foreign = tuned(OneVsRestClassifier(LogisticRegression())).fit(np.nan_to_num(rows.X), rows.Y)
    with pytest.raises(TypeError, match=r"^OneVsRestClassifier has no form"):
        to_onnx(foreign)
    with pytest.raises(TypeError, match=r"^The decision rule 'joint_labelset'"):
        add_rule(JointLabelset(None, None, None, 0.5), Graph(), "margins", 4)


def test_a_member_of_another_package_is_named(rows):
    model = MultiLabelClassifier(members=[KNeighborsClassifier()], cv=2, n_jobs=1)
    model.fit(np.nan_to_num(rows.X), rows.Y)
    with pytest.raises(TypeError, match=r"^MultiLabelClassifier has no form.*KNeighborsClassifier"):
        to_onnx(model)


@pytest.mark.parametrize("model", [booster(), tuned(booster()), ThresholdClassifier(trees())])
def test_unfitted(model):
    with pytest.raises(NotFittedError):
        to_onnx(model)


def test_without_onnx(mixed_models, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        to_onnx(mixed_models["booster"])
