"""Metrics of probabilities: names, values on drawn rows, standard errors, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from xdcc import metrics
from xdcc.base.fit_data import FitData
from xdcc.decision import ThresholdClassifier, TunedDecisionClassifierCV, best_threshold
from xdcc.decision.label_metrics import validation_data
from xdcc.decision.proba_metrics import ProbaMetricName, proba_metric
from xdcc.decision.rule_choice import without_choice
from xdcc.decision.threshold_rules import LabelWise

OF_ROWS = ["label_ranking_average_precision", "precision_at_1", "precision_at_3", "ndcg_at_2"]
AREAS = [
    f"{average}_{curve}"
    for average in ("macro", "micro")
    for curve in ("roc_auc", "average_precision")
]
NAMES = [*OF_ROWS, *AREAS, "neg_log_loss", "neg_brier_score"]


def measure_of_fold(name, Y, proba, weight, fold):
    rows = np.arange(len(Y)) % 2 == fold
    return proba_metric(name).score(Y[rows], proba[rows], weight[rows])


def drawn(seed, n_rows=12):
    random = np.random.default_rng(seed)
    Y = random.integers(0, 2, (n_rows, 3)).astype(float)
    proba = np.clip(0.3 + 0.4 * Y + random.normal(scale=0.3, size=Y.shape), 0, 1).round(1)
    Y[random.random(Y.shape) < 0.2] = np.nan
    Y[:4] = [[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    Y[:, 0] = np.where(np.isnan(Y).all(axis=1), 1, Y[:, 0])
    return Y, proba, random.integers(1, 4, n_rows).astype(np.float32)


@given(st.integers(0, 2**32 - 1), st.sampled_from(NAMES), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_measure_of_repeated_rows(seed, name, weighted):
    Y, proba, weight = drawn(seed)
    measure = proba_metric(name)
    counts = np.random.default_rng(seed).integers(0, 3, (5, len(Y))).astype(float)
    counts[:, :4] = 1  # both values of every label
    counts[4] = 0
    data = validation_data(Y, proba, weight if weighted else None)
    found = measure.on_draws(data)(counts)
    assert found.shape == (5, 1)
    for count, (value,) in zip(counts[:4].astype(int), found[:4], strict=True):
        rows = np.repeat(np.arange(len(Y)), count)
        options = {"sample_weight": weight[rows]} if weighted else {}
        assert value == pytest.approx(measure.score(Y[rows], proba[rows], **options))
    assert np.isnan(found[4])


@pytest.mark.parametrize(
    ("name", "metric", "options"),
    [
        ("label_ranking_average_precision", metrics.label_ranking_average_precision_score, {}),
        ("precision_at_2", metrics.precision_at_k, {"k": 2}),
        ("ndcg_at_3", metrics.ndcg_at_k, {"k": 3}),
        ("macro_average_precision", metrics.macro_average_precision, {}),
        ("micro_average_precision", metrics.micro_average_precision, {}),
        ("macro_roc_auc", metrics.macro_roc_auc, {}),
        ("micro_roc_auc", metrics.micro_roc_auc, {}),
        ("neg_log_loss", lambda *args, **options: -metrics.log_loss(*args, **options), {}),
        ("neg_brier_score", lambda *args, **options: -metrics.brier_score(*args, **options), {}),
    ],
)
def test_scores_are_those_of_the_metrics(name, metric, options):
    Y, proba, weight = drawn(0)
    expected = metric(Y, proba, sample_weight=weight, **options)
    assert proba_metric(name).score(Y, proba, weight) == expected
    data = FitData(proba, Y.astype(np.float32), weight)
    choice = without_choice(data, np.arange(len(Y)) % 2, measure=proba_metric(name))
    assert choice.score == pytest.approx(expected)
    assert choice.rule == LabelWise()
    table = choice.results
    assert table["rule"] == ["label_wise"]
    assert table["params"] == [{}]
    assert table["chosen"] == [True]
    assert table["score"] == table["corrected_score"] == [choice.score]
    assert table["standard_error"][0] > 0
    of_folds = [measure_of_fold(name, Y, proba, weight, fold) for fold in (0, 1)]
    assert table["score_std"] == pytest.approx([np.std(of_folds)])


@pytest.mark.parametrize("name", [*OF_ROWS, "neg_log_loss"])
def test_standard_error_of_a_mean_over_rows(name, monkeypatch):
    """The estimate from 200 draws has a standard error of 5 %; the tolerance is five times that."""
    random = np.random.default_rng(0)
    Y, proba = random.integers(0, 2, (1500, 3)), random.random((1500, 3))
    values = [proba_metric(name).score(Y[[row]], proba[[row]]) for row in range(len(Y))]
    expected = np.std(values) / np.sqrt(len(Y))
    data = FitData(proba, Y.astype(np.float32), None)
    folds = np.arange(len(Y)) % 2
    choice = without_choice(data, folds, measure=proba_metric(name), seed=1)
    assert choice.results["standard_error"][0] == pytest.approx(expected, rel=0.25)
    # From a sample of 500 rows it is less certain.
    monkeypatch.setattr("xdcc.decision.rule_choice._ENTRIES_OF_ERROR", 1500)
    of_sample = without_choice(data, folds, measure=proba_metric(name), seed=1)
    assert of_sample.score == choice.score
    assert of_sample.results["standard_error"] != choice.results["standard_error"]
    assert of_sample.results["standard_error"][0] == pytest.approx(expected, rel=0.5)


@pytest.mark.parametrize("name", AREAS)
def test_standard_error_of_areas(name):
    """The reference is the standard deviation of areas over new data."""
    folds, measure, areas, errors = np.arange(200) % 2, proba_metric(name), [], []
    for seed in range(60):
        random = np.random.default_rng(seed)
        Y = random.integers(0, 2, (200, 2))
        proba = 1 / (1 + np.exp(-Y - random.normal(size=Y.shape)))
        data = FitData(proba, Y.astype(np.float32), None)
        areas.append(measure.score(Y, proba))
        if seed < 5:
            choice = without_choice(data, folds, measure=measure)
            errors += choice.results["standard_error"]
    # Sixty areas give their standard deviation within 9 %, five errors their mean within 3 %.
    assert np.mean(errors) == pytest.approx(np.std(areas), rel=0.5)


def test_rows_that_do_not_count():
    Y, proba, weight = drawn(1)
    Y[5], weight[6:9] = np.nan, 0
    kept = np.setdiff1d(np.arange(len(Y)), [5, 6, 7, 8])
    for name in NAMES:
        measure = proba_metric(name)
        data = FitData(proba, Y.astype(np.float32), weight)
        choice = without_choice(data, np.arange(len(Y)) % 2, measure=measure)
        assert choice.score == pytest.approx(measure.score(Y[kept], proba[kept], weight[kept]))
    with pytest.raises(ValueError, match="are in one fold"):
        without_choice(data, np.zeros(len(Y), int), measure=measure)


def test_where_there_is_no_value():
    Y = np.array([[1, 0, np.nan], [1, 0, 1], [0, 1, 0]], np.float32)
    weight = np.array([1.0, 1.0, 0.0], np.float32)
    data = FitData(None, Y, weight)
    assert proba_metric("macro_roc_auc").missing(data) is not None
    assert proba_metric("micro_roc_auc").missing(data) is None
    assert proba_metric("micro_roc_auc").missing(data._replace(Y=Y * 0)) is not None
    for name in ("macro_average_precision", "micro_average_precision"):
        assert proba_metric(name).missing(data) is None
        assert proba_metric(name).missing(data._replace(Y=Y * 0)) == "no label has known 1"
    assert proba_metric("macro_roc_auc").missing(data._replace(sample_weight=None)) is None
    assert proba_metric("precision_at_4").missing(data) == "there are only 3 labels"
    assert proba_metric("ndcg_at_3").missing(data) is None
    # A draw without both values of any label has no score.
    data = FitData(np.full((4, 1), 0.5), np.zeros((4, 1), np.float32), None)
    assert np.isnan(proba_metric("macro_roc_auc").on_draws(data)(np.ones((2, 4)))).all()


@pytest.mark.parametrize(
    "name",
    [
        *("precision_at_0", "precision_at_-1", "precision_at_k", "ndcg_at_x", "ndcg_at_1.5"),
        *("ndcg_at_", "ndcg", "roc_auc", "log_loss", "brier_score", "macro_roc_auc ", 3, None),
    ],
)
def test_other_names(name):
    assert proba_metric(name) is None
    assert not ProbaMetricName().accepts(name)
    assert "'ndcg_at_5' and so on" in str(ProbaMetricName())


@pytest.mark.parametrize("name", NAMES)
def test_decision_rules_refuse_them(name):
    X, Y = np.random.default_rng(0).random((20, 2)), np.eye(20, 3)
    base = MultiOutputClassifier(LogisticRegression())
    message = f"measure='{name}': a decision rule has no influence .* Use MultiLabelClassifier"
    for model in (
        TunedDecisionClassifierCV(base, measure=name),
        ThresholdClassifier(base, measure=name),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)
    with pytest.raises(ValueError, match=message):
        best_threshold(Y, np.full(Y.shape, 0.5), measure=name)
