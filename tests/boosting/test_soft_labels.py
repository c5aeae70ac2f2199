"""`MultiLabelXGBClassifier` with probabilities as labels."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from xdcc import (
    BinaryRelevance,
    MultiLabelClassifier,
    MultiLabelXGBClassifier,
    OrderFreeChainClassifier,
    ThresholdClassifier,
    TunedDecisionClassifierCV,
)
from xdcc.boosting.out_of_fold import LogLoss

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
SOFT = expit(2 * X @ rng.normal(size=(4, 3)))


def model(**parameters):
    return MultiLabelXGBClassifier(
        n_estimators=20, soft_labels=True, random_state=0, n_jobs=1, **parameters
    )


@pytest.mark.parametrize("parameters", [{}, {"sketch_size": 1}, {"sketch_size": "auto"}])
def test_probabilities_are_learned(parameters):
    fitted = model(**parameters).fit(X[:200], SOFT[:200])
    assert np.abs(fitted.predict_proba(X[:200]) - SOFT[:200]).mean() < 0.06  # of the mean: about .3
    assert set(np.unique(fitted.predict(X))) == {0, 1}


def test_it_stops_by_the_log_loss_of_probabilities():
    fitted = model(early_stopping_rounds=3, learning_rate=1.0).fit(
        X[:200], SOFT[:200], eval_set=[(X[200:], SOFT[200:])]
    )
    losses = fitted.evals_result_["validation_0"]["logloss"]
    assert fitted.best_iteration_ == int(np.argmin(losses))
    p = fitted.predict_proba(X[200:])
    y = SOFT[200:]
    expected = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    assert min(losses) == pytest.approx(expected, rel=1e-5)


def test_log_loss_of_margins():
    Y = np.array([[0.25, np.nan, 1]], dtype=np.float32)
    z = np.array([[0.5, 9, -2]], dtype=np.float32)
    p = expit(z.astype(float))
    expected = -0.25 * np.log(p[0, 0]) - 0.75 * np.log(1 - p[0, 0]) - np.log(p[0, 2])
    assert LogLoss(Y, None)(z) == pytest.approx(expected, rel=1e-6)
    assert LogLoss(Y, np.array([2], np.float32))(z) == pytest.approx(2 * expected, rel=1e-6)


def test_out_of_fold():
    found = model().out_of_fold(X, SOFT, np.arange(300) % 3)
    assert np.abs(expit(found.margins) - SOFT).mean() < 0.1


def test_it_continues_from_an_earlier_model():
    first = model().fit(X, SOFT)
    both = model().fit(X, SOFT, xgb_model=first)
    assert both.booster_.num_boosted_rounds() == 40


@pytest.mark.parametrize("estimator", [MultiLabelXGBClassifier(), BinaryRelevance()])
def test_without_the_parameter_the_message_names_it(estimator):
    with pytest.raises(ValueError, match=r"Y holds 0\.\d+ in row 0 .*soft_labels=True"):
        estimator.fit(X, SOFT)


def test_other_values():
    bad = pd.DataFrame(SOFT, columns=["red", "green", "blue"])
    bad.loc[5, "green"] = 1.5
    with pytest.raises(
        ValueError, match=r"Y holds 1\.5 in row 5 for label 'green', but a label is in"
    ):
        model().fit(X, bad)
    with pytest.raises(ValueError, match="soft_labels"):
        MultiLabelXGBClassifier(soft_labels="yes").fit(X, SOFT)


@pytest.mark.parametrize(
    "decider",
    [TunedDecisionClassifierCV, ThresholdClassifier, OrderFreeChainClassifier],
)
def test_rules_need_labels(decider):
    message = f"{decider.__name__} compares predictions with labels.* MultiLabelXGBClassifier alone"
    with pytest.raises(ValueError, match=message):
        decider(model()).fit(X, SOFT)


def test_accuracy_needs_labels():
    fitted = model().fit(X, SOFT)
    with pytest.raises(ValueError, match="a label is 0, 1 or NaN"):
        fitted.score(X, SOFT)
    with pytest.raises(ValueError, match="soft_labels=True"):
        MultiLabelClassifier().fit(X, SOFT)
