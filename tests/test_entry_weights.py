"""Estimators, metrics and calibration with a weight for each label of a row."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

import xdcc
from xdcc import metrics
from xdcc.base.fit_data import FitData
from xdcc.boosting.out_of_fold import LogLoss
from xdcc.decision import Precision
from xdcc.decision.calibration import calibrate
from xdcc.decision.label_metrics import COUNTED, scores_on_draws, validation_data

rng = np.random.default_rng(0)
N, K = 150, 3
X = np.round(rng.normal(size=(N, 4)), 1)
Y = (X[:, :K] + rng.normal(size=(N, K)) > 0).astype(float)
W = rng.choice([0, 1, 2, 3], size=Y.shape, p=[0.1, 0.3, 0.3, 0.3]).astype(float)
W[~W.any(axis=1), 0] = 1


def booster(**parameters):
    return xdcc.MultiLabelXGBClassifier(
        n_estimators=8, max_depth=3, random_state=0, n_jobs=1, **parameters
    )


ESTIMATORS = {
    "booster": booster(),
    "sketch": booster(sketch_size=1),
    "groups": booster(sketch_size=1, labels_per_tree=2),
    "automatic sketch": booster(sketch_size="auto"),
    "chain": xdcc.DynamicChainClassifier(chain_length=2, n_estimators=4, n_jobs=1),
    "chain with folds": xdcc.DynamicChainClassifier(
        chain_length=2, n_estimators=4, cv=2, n_jobs=1, random_state=0
    ),
    "chain with an end": xdcc.DynamicChainClassifier(
        chain_length=3, n_estimators=4, end_label=True, n_jobs=1
    ),
    "order-free chain": xdcc.OrderFreeChainClassifier(
        booster(), n_estimators=4, cv=2, n_jobs=1, random_state=0
    ),
    "forest": xdcc.SketchedExtraTreesClassifier(5, n_jobs=1),
    "forest of sketches": xdcc.SketchedExtraTreesClassifier(5, sketch_size=2, n_jobs=1),
    "linear": xdcc.LogisticLabels(cv=2, n_jobs=1),
    "rules": xdcc.TunedDecisionClassifierCV(booster(), cv=2, random_state=0),
    "thresholds": xdcc.ThresholdClassifier(booster(), method="pcut", cv=2, random_state=0),
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def proba(name, labels, weight, features=X):
    model = clone(ESTIMATORS[name]).fit(features, labels, sample_weight=weight)
    return model.predict_proba(X)


@each_estimator
def test_equal_columns_are_weights_of_rows(name):
    of_rows = np.linspace(0.5, 2, N)
    found = proba(name, Y, np.tile(of_rows[:, np.newaxis], (1, K)))
    np.testing.assert_array_equal(found, proba(name, Y, of_rows))


@each_estimator
def test_an_entry_of_weight_0_is_unknown_and_unknown_wins(name):
    unknown = np.where(W == 0, np.nan, Y)
    found = proba(name, Y, W)
    np.testing.assert_array_equal(found, proba(name, unknown, np.where(W == 0, 9, W)))
    is_known = (W > 0).astype(float)
    found = proba(name, Y, is_known)
    np.testing.assert_array_equal(found, proba(name, unknown, np.ones(N)))
    assert not np.array_equal(found, proba(name, Y, np.ones(N)))


@pytest.mark.parametrize("name", ["booster", "sketch", "groups", "linear"])
def test_whole_weights_are_repeated_entries(name):
    rows, times = np.nonzero(W.max(axis=1, keepdims=True) > np.arange(3))
    repeated = np.where(W[rows] > times[:, np.newaxis], Y[rows], np.nan)
    if name == "linear":
        models = [xdcc.LogisticLabels(C=1.0, n_jobs=1) for _ in range(2)]
    else:
        models = [clone(ESTIMATORS[name]) for _ in range(2)]
    found = models[0].fit(X, Y, sample_weight=W).predict_proba(X)
    expected = models[1].fit(X[rows], repeated).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("sketch_size", [None, 2])
def test_leaves_of_a_forest_hold_weighted_shares(sketch_size):
    model = xdcc.SketchedExtraTreesClassifier(
        1, min_samples_leaf=5, sketch_size=sketch_size, n_jobs=1, random_state=0
    ).fit(X, Y, sample_weight=W)
    forest, found = model.forest_, model.predict_proba(X)
    assert len(forest.leaf_weight) > 3
    for begin, end in zip(forest.row_start[:-1], forest.row_start[1:], strict=True):
        rows = forest.row[begin:end]
        known = W[rows].sum(axis=0)
        expected = (W * Y)[rows].sum(axis=0)[known > 0] / known[known > 0]
        smoothed = found[rows[0]][known > 0]
        order = np.argsort(expected)
        assert (np.diff(smoothed[order]) >= -1e-9).all()
    shares = xdcc.forest.leaves.leaf_shares(forest)
    weight = forest.leaf_weight[:, np.newaxis]
    total = (shares.positive.toarray() * weight).sum(axis=0)
    np.testing.assert_allclose(total, (W * Y).sum(axis=0), rtol=1e-5)
    known = ((1 - shares.unknown.toarray()) * weight).sum(axis=0)
    np.testing.assert_allclose(known, W.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(forest.labels.mean, total / known, rtol=1e-5)


def test_a_forest_has_importances_and_a_file(tmp_path):
    model = xdcc.SketchedExtraTreesClassifier(5, n_jobs=1).fit(X, Y, sample_weight=W)
    assert model.feature_importances_.sum() == pytest.approx(1)
    xdcc.serving.save_model(model, tmp_path / "forest.xdcc")
    loaded = xdcc.serving.load_model(tmp_path / "forest.xdcc")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    tuned = xdcc.TunedDecisionClassifierCV(model, cv=2, random_state=0)
    tuned.fit(X, Y, sample_weight=W)
    compiled = xdcc.serving.CompiledModel(tuned)
    np.testing.assert_allclose(compiled.predict_proba(X), tuned.predict_proba(X), atol=1e-6)


def test_a_weight_changes_what_its_label_learns():
    """Labels apart, the model of one does not depend on the weights of another."""
    one = np.ones_like(W)
    one[:, 1] = np.where(Y[:, 1] == 1, 50, 1)
    found = xdcc.LogisticLabels(C=1.0, n_jobs=1).fit(X, Y, sample_weight=one).predict_proba(X)
    plain = xdcc.LogisticLabels(C=1.0, n_jobs=1).fit(X, Y).predict_proba(X)
    assert (found[:, 1] > plain[:, 1]).all()


@pytest.mark.parametrize(
    "estimator",
    [
        xdcc.BinaryRelevance(n_estimators=2),
        xdcc.ClassifierChain(n_estimators=2),
        xdcc.LabelPowerset(estimator=LogisticRegression()),
        xdcc.TunedDecisionClassifierCV(MultiOutputClassifier(LogisticRegression()), cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_others_refuse_them_by_name(estimator):
    message = f"sample_weight is a matrix, but {type(estimator).__name__} learns with weights of"
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y, sample_weight=W)


def test_a_matrix_that_a_vector_can_replace_suits_everyone():
    of_rows = np.linspace(0.5, 2, N)
    tiled = np.tile(of_rows[:, np.newaxis], (1, K)) * (W > 0)
    found = xdcc.BinaryRelevance(n_estimators=2).fit(X, Y, sample_weight=tiled)
    expected = xdcc.BinaryRelevance(n_estimators=2).fit(
        X, np.where(W > 0, Y, np.nan), sample_weight=of_rows
    )
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w[:, :2], r"sample_weight has shape \(150, 2\); .* or \(150, 3\), one per row"),
        (lambda w: np.where(w == 3, -1, w), "is -1.0 in row .* for label 'label_.'; weights must"),
        (lambda w: np.where(w == 3, np.inf, w), "is inf in row .* for label 'label_.'"),
        (lambda w: np.where(w == 3, np.nan, w), "is nan in row .* for label 'label_.'"),
        (lambda w: 0 * w, "sample_weight is zero in every row"),
    ],
)
def test_bad_weights(change, message):
    with pytest.raises(ValueError, match=message):
        booster().fit(X, Y, sample_weight=change(W))


def test_a_label_without_weight_is_absent():
    weight = W.copy()
    weight[:, 1] = 0
    with pytest.warns(UserWarning, match="in every row that counts: label 'label_1'"):
        model = booster().fit(X, Y, sample_weight=weight)
    assert (model.predict_proba(X)[:, 1] < 0.1).all()


def test_forms_of_weights():
    names = ["red", "green", "blue"]
    labels = pd.DataFrame(Y, columns=names)
    expected = booster().fit(X, labels, sample_weight=W).predict_proba(X)
    frame = pd.DataFrame(W, columns=names)[["blue", "red", "green"]]
    for weight in (frame, sparse.csr_matrix(W), W.tolist()):
        found = booster().fit(X, labels, sample_weight=weight).predict_proba(X)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="The columns of sample_weight must be the labels 'red'"):
        booster().fit(X, labels, sample_weight=frame.rename(columns={"red": "pink"}))
    one = booster().fit(X, Y[:, :1], sample_weight=W[:, :1] + 1)
    vector = booster().fit(X, Y[:, :1], sample_weight=W[:, 0] + 1)
    np.testing.assert_array_equal(one.predict_proba(X), vector.predict_proba(X))


def test_training_goes_on_with_them():
    whole = xdcc.MultiLabelXGBClassifier(n_estimators=6, random_state=0, n_jobs=1)
    first = clone(whole).set_params(n_estimators=3).fit(X, Y, sample_weight=W)
    then = clone(whole).set_params(n_estimators=3).fit(X, Y, sample_weight=W, xgb_model=first)
    whole.fit(X, Y, sample_weight=W)
    np.testing.assert_array_equal(then.predict_proba(X), whole.predict_proba(X))


def test_boosters_without_a_fold_learn_from_its_complement():
    folds = np.arange(N) % 3
    found = booster().out_of_fold(X, Y, folds, sample_weight=W)
    n_rounds = found.unfitted.n_estimators
    weight = np.where(folds[:, np.newaxis] == 0, 0, W)
    alone = booster().set_params(n_estimators=n_rounds).fit(X, Y, sample_weight=weight)
    trained = X[folds != 0]  # the bins of others differ
    of_fold = found.estimators[0].predict_proba(trained)
    np.testing.assert_allclose(of_fold, alone.predict_proba(trained), atol=1e-5)


def test_rows_are_drawn_with_all_their_weights():
    drawn = booster(subsample=0.6, sketch_size=1)
    found = drawn.out_of_fold(X, Y, np.arange(N) % 2, sample_weight=W)
    assert np.isfinite(found.margins).all()
    twice = drawn.out_of_fold(X, Y, np.arange(N) % 2, sample_weight=W)
    np.testing.assert_array_equal(found.margins, twice.margins)


def test_log_loss_of_margins():
    labels = np.array([[1, 0, np.nan]], np.float32)
    margins = np.array([[0.5, -1, 3]], np.float32)
    expected = 2 * np.log1p(np.exp(-0.5)) + 0.5 * np.log1p(np.exp(-1))
    loss = LogLoss(labels, np.array([[2, 0.5, 7]], np.float32))
    assert loss(margins) == pytest.approx(expected, rel=1e-6)


weights = arrays(np.float64, (6, 3), elements=st.sampled_from([0.0, 1.0, 2.0, 3.0]))
truths = arrays(np.float64, (6, 3), elements=st.sampled_from([0.0, 1.0, np.nan]))
OF_ENTRIES = {
    "hamming_loss": (metrics.hamming_loss, False),
    "micro_f1": (metrics.micro_f1, False),
    "micro_precision": (metrics.micro_precision, False),
    "macro_f1": (metrics.macro_f1, False),
    "macro_recall": (metrics.macro_recall, False),
    "log_loss": (metrics.log_loss, True),
    "brier_score": (metrics.brier_score, True),
    "macro_average_precision": (metrics.macro_average_precision, True),
    "micro_average_precision": (metrics.micro_average_precision, True),
    "macro_roc_auc": (metrics.macro_roc_auc, True),
    "micro_roc_auc": (metrics.micro_roc_auc, True),
}
OF_SAMPLES = [
    metrics.subset_accuracy,
    metrics.example_f1,
    metrics.example_precision,
    metrics.jaccard,
]


def value(metric, *data, **options):
    """Compute a metric; None if it has no value."""
    try:
        return metric(*data, **options)
    except ValueError as error:
        if not re.search("no known label|has no value", str(error)):
            raise
        return None


@settings(deadline=None)
@given(truth=truths, weight=weights, seed=st.integers(0, 99))
@pytest.mark.parametrize("name", OF_ENTRIES)
def test_metrics_count_entries_as_often_as_they_weigh(name, truth, weight, seed):
    metric, takes_proba = OF_ENTRIES[name]
    answer = np.random.default_rng(seed).random(truth.shape)
    if not takes_proba:
        answer = np.round(answer)
    rows, times = np.nonzero(np.ones((len(truth), 1)) * np.arange(3) >= 0)
    repeated = np.where(weight[rows] > times[:, np.newaxis], truth[rows], np.nan)
    found = value(metric, truth, answer, sample_weight=weight)
    expected = value(metric, repeated, answer[rows])
    assert found == (None if expected is None else pytest.approx(expected))


@settings(deadline=None)
@given(truth=truths, of_rows=weights.map(lambda w: w[:, 0] + 0.5), known=weights)
@pytest.mark.parametrize("metric", [*OF_SAMPLES, *(m for m, _ in OF_ENTRIES.values())])
def test_metrics_of_weights_that_a_vector_can_replace(metric, truth, of_rows, known):
    answer = np.round(np.random.default_rng(0).random(truth.shape))
    weight = of_rows[:, np.newaxis] * (known > 0)
    found = value(metric, truth, answer, sample_weight=weight)
    hidden = np.where(known > 0, truth, np.nan)
    expected = value(metric, hidden, answer, sample_weight=of_rows)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-12))


def test_f1_of_a_row_by_hand():
    f1 = metrics.example_f1(
        [[1, 1, 0], [1, 0, 0]],
        [[1, 0, 1], [0, 0, 0]],
        sample_weight=[
            [4, 1, 2],
            [1, 1, 0.5],
        ],
    )
    assert f1 == pytest.approx((4 * (2 * 4 / (5 + 6)) + 1 * 0) / 5)


def test_rankings_refuse_them():
    for metric in (metrics.coverage_error, metrics.label_ranking_average_precision_score):
        with pytest.raises(ValueError, match="it takes weights of samples"):
            metric(Y, rng.random(Y.shape), sample_weight=W)
        metric(Y, rng.random(Y.shape), sample_weight=(W > 0) * 2.0)


@pytest.mark.parametrize("measure", [*COUNTED, "precision_at_recall_0.5"])
def test_measures_are_those_metrics(measure):
    predicted = (rng.random(Y.shape) > 0.5).astype(np.int8)
    data = validation_data(Y, np.full(Y.shape, 0.5), W)
    (found,) = scores_on_draws(measure, data, [predicted])(np.ones((1, N)))[0]
    if measure in COUNTED:
        expected = getattr(metrics, measure)(Y, predicted, sample_weight=W)
        assert found == pytest.approx(expected)
    # Repeating each row does not change the data.
    assert scores_on_draws(measure, data, [predicted])(np.full((1, N), 2.0)) == pytest.approx(found)


@pytest.mark.parametrize("measure", COUNTED)
def test_a_threshold_is_the_best_of_all(measure):
    answer = np.round(rng.random(Y.shape), 2)
    threshold = xdcc.decision.best_threshold(Y, answer, measure, sample_weight=W)
    metric = getattr(metrics, measure)

    def score(cut):
        return metric(Y, (answer >= cut).astype(int), sample_weight=W)

    assert score(threshold) == pytest.approx(max(map(score, np.linspace(-0.005, 1.005, 102))))


@pytest.mark.parametrize("measure", COUNTED)
def test_thresholds_of_labels_are_no_worse_than_one_for_all(measure):
    answer = np.round(rng.random(Y.shape), 2)
    common = xdcc.decision.best_threshold(Y, answer, measure, sample_weight=W)
    own = xdcc.decision.best_thresholds_per_label(Y, answer, measure, sample_weight=W)
    metric = getattr(metrics, measure)
    score = metric(Y, (answer >= own).astype(int), sample_weight=W)
    assert score >= metric(Y, (answer >= common).astype(int), sample_weight=W)
    for label in range(K):  # no other threshold of one label is better
        for cut in np.linspace(-0.005, 1.005, 102):
            other = own.copy()
            other[label] = cut
            assert metric(Y, (answer >= other).astype(int), sample_weight=W) <= score + 1e-9


def test_costs_count_entries_by_their_weights():
    costs = xdcc.decision.LabelCosts(false_positive=2, false_negative=[1, 2, 3])
    predicted = (rng.random(Y.shape) > 0.5).astype(int)
    price = np.where(Y == 1, [1, 2, 3], 2) * (predicted != Y)
    of_rows = W.max(axis=1)
    assert costs.score(Y, predicted, W) == pytest.approx(-(W * price).sum() / of_rows.sum())


def test_calibration_repeats_entries():
    margins = 3 * X[:, :K] + rng.normal(size=(N, K))
    rows, times = np.nonzero(W.max(axis=1, keepdims=True) > np.arange(3))
    repeated = np.where(W[rows] > times[:, np.newaxis], Y[rows], np.nan)
    folds = np.arange(N) % 2
    unknown = np.where(W == 0, np.nan, Y)
    found = calibrate(margins, unknown, W, folds).scaling
    expected = calibrate(margins[rows], repeated, np.ones(len(rows)), folds[rows]).scaling
    np.testing.assert_allclose(found.slope.mean(), expected.slope.mean(), rtol=0.2)
    vector = np.linspace(0.5, 2, N)
    tiled = np.tile(vector[:, np.newaxis], (1, K))
    for a, b in zip(
        calibrate(margins, Y, tiled, folds), calibrate(margins, Y, vector, folds), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_constraints_use_the_weights_of_their_label():
    model = xdcc.TunedDecisionClassifierCV(
        booster(), cv=2, random_state=0, constraints={"label_1": Precision(0.5)}
    )
    weight = W.copy()
    weight[:, 1] = np.where(W[:, 1] > 0, 2, 0)
    other = weight.copy()
    other[:, 1] = 2 * weight[:, 1]  # their scale does not matter
    tables = [clone(model).fit(X, Y, sample_weight=w).constraints_ for w in (weight, other)]
    assert tables[0]["precision"] != [np.nan]
    assert len(tables[0]["label"]) == 1


def test_scores_weigh_entries():
    model = booster().fit(X, Y, sample_weight=W)
    found = model.score(X, Y, sample_weight=W)
    assert found == metrics.subset_accuracy(Y, model.predict(X), sample_weight=W)


def test_checked_data_have_weights_of_labels_and_rows():
    data = FitData(None, Y.astype(np.float32), None).weighted(W.astype(np.float32))
    assert data.has_entry_weights
    np.testing.assert_array_equal(data.weight, W.max(axis=1))
    np.testing.assert_array_equal(data.entry_weight, W)
    np.testing.assert_array_equal(data.label_weight(2), W[:, 2])
    np.testing.assert_allclose(data.row_sizes * data.weight, W.sum(axis=1))
    np.testing.assert_array_equal(data.take(np.array([3, 1])).entry_weight, W[[3, 1]])
