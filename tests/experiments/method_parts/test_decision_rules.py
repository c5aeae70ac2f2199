"""Readings by every decision rule: those of the classifier itself, with what they promise."""

import numpy as np
import pytest

from experiments.engine import registry
from experiments.engine.plan import measured
from experiments.engine.registry import Split
from xdcc import metrics
from xdcc.data import make_multilabel
from xdcc.decision import TunedDecisionClassifierCV


def test_readings_and_promises_are_the_classifier_s():
    data = make_multilabel(400, n_labels=4, random_state=0)
    train, test = data[np.arange(250)], data[np.arange(250, 400)]
    method, split = registry.method("decision_rules"), Split(train, test.X)
    model = method.build(train, 0, n_estimators=20, calibrate=True).fit(train.X, train.Y)
    read = {name: reading(model, split) for name, reading in method.readings.items()}
    for measure in ("subset_accuracy", "example_f1"):
        tuned = TunedDecisionClassifierCV(model.estimator, measure=measure, random_state=0)
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


def test_a_score_of_one_reading_is_not_that_of_another():
    scores = {"log_loss": 0.5, "promise_gap@a": 0.1, "promise_gap@b, c": 0.2}
    record = {"result": {"readings": {"a": {}, "b, c": {}}, "scores": scores}, "run": {}}
    assert measured(record, "a", "promise_gap") == 0.1
    assert measured(record, "b, c", "promise_gap") == 0.2
    assert measured(record, "a", "log_loss") == 0.5
