"""Costs of wrong labels as a metric, and the precision at a recall."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from xdcc.decision import (
    LabelCosts,
    TunedDecisionClassifierCV,
    apply_thresholds,
    best_threshold,
    best_thresholds_per_label,
)
from xdcc.decision.label_metrics import metric_named, scores_on_draws, validation_data

COSTS = LabelCosts(false_positive=[1.0, 2.0, 0.5], false_negative=[9.0, 1.0, 0.0])


def made(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    proba = rng.uniform(size=(n, 3)).round(2)
    Y = (rng.uniform(size=(n, 3)) < proba).astype(float)
    Y[rng.uniform(size=Y.shape) < 0.1] = np.nan
    return Y, proba, rng.uniform(0.5, 2, n)


def cost_by_hand(Y: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> float:
    missed = ((Y == 1) & (labels == 0)) @ np.array(COSTS.false_negative)
    wrong = ((Y == 0) & (labels == 1)) @ np.array(COSTS.false_positive)
    total = weight @ (missed + wrong)
    counts = ~np.isnan(Y).all(axis=1)
    return total / weight[counts].sum()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**16))
def test_mean_cost_of_a_row(seed: int) -> None:
    Y, proba, weight = made(seed)
    labels = (proba > 0.6).astype(int)
    score = COSTS.score(Y, labels, weight)
    assert score == pytest.approx(-cost_by_hand(Y, labels, weight))
    data = validation_data(Y, proba, weight)
    counts = ~np.isnan(Y).all(axis=1)
    drawn = scores_on_draws(COSTS, data, [labels[counts].astype(np.int8)])
    assert drawn(np.ones((1, counts.sum())))[0, 0] == pytest.approx(score)
    draw = np.random.default_rng(seed).integers(0, 3, counts.sum())
    rows = np.flatnonzero(counts).repeat(draw)
    assert drawn(draw[np.newaxis])[0, 0] == pytest.approx(
        -cost_by_hand(Y[rows], labels[rows], weight[rows])
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**16))
def test_thresholds_found_are_the_cheapest(seed: int) -> None:
    Y, proba, weight = made(seed, n=15)
    cuts = np.linspace(-0.005, 1.005, 102)
    costs = [cost_by_hand(Y, proba >= cut, weight) for cut in cuts]
    common = best_threshold(Y, proba, COSTS, sample_weight=weight)
    assert cost_by_hand(Y, proba >= common, weight) == pytest.approx(min(costs))
    own = best_thresholds_per_label(Y, proba, COSTS, sample_weight=weight, min_positive=0)
    cheapest = np.full(3, 0.5)
    for j in range(3):
        trials = []
        for cut in cuts:
            cheapest[j] = cut
            trials.append(cost_by_hand(Y, apply_thresholds(proba, cheapest), weight))
        cheapest[j] = cuts[np.argmin(trials)]
    assert cost_by_hand(Y, apply_thresholds(proba, own), weight) == pytest.approx(
        cost_by_hand(Y, apply_thresholds(proba, cheapest), weight)
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**16), st.sampled_from([0.5, 0.9, 1.0]))
def test_precision_at_a_recall(seed: int, least: float) -> None:
    Y, proba, weight = made(seed, n=15)
    name = f"precision_at_recall_{least:g}"

    def by_hand(cut: float) -> float:
        known = ~np.isnan(Y)
        w = np.broadcast_to(weight[:, np.newaxis], Y.shape)
        predicted, true = known & (proba >= cut), Y == 1
        both, n_true, n_predicted = (w[m].sum() for m in (predicted & true, true, predicted))
        recall = both / n_true if n_true else 1.0
        if recall < least - 1e-9:
            return recall - least
        return both / n_predicted if n_predicted else 1.0

    cut = best_threshold(Y, proba, name, sample_weight=weight)
    assert by_hand(cut) == pytest.approx(max(map(by_hand, np.linspace(-0.005, 1.005, 102))))


def test_precision_counts_only_with_enough_recall() -> None:
    value = metric_named("precision_at_recall_0.8").value
    true, both = np.array([10.0, 10.0]), np.array([8.0, 7.0])
    np.testing.assert_allclose(value(true, np.array([10.0, 7.0]), both), [0.8, -0.1])


def test_tuned_for_costs() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    Y = (X[:, :2] + rng.normal(size=(400, 2)) > 1).astype(int)
    costs = LabelCosts(false_negative=[10.0, 1.0])
    classifier = OneVsRestClassifier(LogisticRegression())
    model = TunedDecisionClassifierCV(classifier, measure=costs).fit(X[:300], Y[:300])
    assert "least_cost" in model.cv_results_["rule"]
    plain = classifier.fit(X[:300], Y[:300]).predict(X[300:])
    assert costs.score(Y[300:], model.predict(X[300:])) > costs.score(Y[300:], plain) + 0.1
    assert costs.score(Y[300:], model.predict(X[300:])) == pytest.approx(model.best_score_, abs=0.3)
    only = TunedDecisionClassifierCV(classifier, measure=costs, rules=["least_cost"])
    only.fit(X[:300], Y[:300])
    np.testing.assert_allclose(only.rule_.thresholds, [1 / 11, 0.5])


def test_costs_by_name() -> None:
    costs = LabelCosts({"b": 3}, {"a": 10.0, "c": 2})
    expected = LabelCosts([1.0, 3.0, 1.0], [10.0, 1.0, 2.0])
    np.testing.assert_array_equal(
        costs.named(["a", "b", "c"]).thresholds(3), expected.thresholds(3)
    )
    truth = pd.DataFrame([[1, 0, 1], [0, 1, 1]], columns=["a", "b", "c"])
    predicted = [[0, 1, 1], [1, 1, 0]]
    assert costs.score(truth, predicted) == expected.score(truth, predicted) == -8.0
    with pytest.raises(ValueError, match="false_positive has a cost of 'b', which is not a label"):
        costs.named(["a", "c"])
    with pytest.raises(ValueError, match="false_positive has costs by name: call named"):
        costs.prices(3)
    with pytest.raises(ValueError, match="false_negative must not be negative"):
        LabelCosts(1.0, {"a": -1.0})
    X = np.random.default_rng(0).normal(size=(60, 2))
    Y = pd.DataFrame((X > 0).astype(int), columns=["a", "b"])
    classifier = OneVsRestClassifier(LogisticRegression())
    models = [
        TunedDecisionClassifierCV(classifier, measure=measure, cv=3).fit(X, Y)
        for measure in (LabelCosts(1, {"b": 4}), LabelCosts(1, [1, 4]))
    ]
    assert models[0].cv_results_ == models[1].cv_results_


@pytest.mark.parametrize(
    ("false_positive", "false_negative", "message"),
    [
        (-1.0, 1.0, "false_positive must not be negative, got -1"),
        (1.0, [1.0, np.nan], "false_negative must be a finite number"),
        ("high", 1.0, "false_positive must be a finite number"),
        ([[1.0]], 1.0, "false_positive must be a finite number, or one for each label"),
    ],
)
def test_what_is_no_cost(false_positive, false_negative, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LabelCosts(false_positive, false_negative)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (LabelCosts([1.0, 2.0, 3.0]), "false_positive has 3 costs, but there are 2 labels"),
        (LabelCosts([1.0, 0.0], 0.0), "false negatives of label 1 both cost 0"),
    ],
)
def test_costs_that_do_not_fit_the_labels(costs: LabelCosts, message: str) -> None:
    model = TunedDecisionClassifierCV(LogisticRegression(), measure=costs)
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(20.0).reshape(10, 2), np.tile([[0, 1], [1, 0]], (5, 1)))


def test_the_rule_for_costs_needs_costs() -> None:
    model = TunedDecisionClassifierCV(LogisticRegression(), rules=["least_cost"])
    with pytest.raises(ValueError, match="'least_cost' needs costs"):
        model.fit(np.arange(20.0).reshape(10, 2), [0, 1] * 5)
