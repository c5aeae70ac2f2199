"""Predictions by XGBoost and NumPy, member by member: what the flat kernel must give."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.compiled_joint_labelset import JOINT, N_BEAMS
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.automatic.mixture import second_level, weighted_sum
from xdcc.base.margins import margins_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.order_free_inference import (
    LabelsetScore,
    LabelStates,
    draw_labelsets,
    probable_labelsets,
)
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.f1_maximiser import SizedMarginals


def margins(model: Any, X: Any) -> NDArray[Any]:
    """Predict log-odds, (n_samples, n_labels)."""
    return _margins(model, model._check_X(X))


def proba(model: Any, X: Any) -> NDArray[Any]:
    """Predict probabilities, (n_samples, n_labels)."""
    X = model._check_X(X)
    if isinstance(model, MultiLabelXGBClassifier):
        return _by_booster(model, X, "value")
    if isinstance(model, DynamicChainClassifier):
        return _chain_proba(model, X)
    of_labels = _log_odds if isinstance(model, OrderFreeChainClassifier) else _margins
    return model.calibration_.constant.in_proba(expit(of_labels(model, X)))


def labels(model: Any, X: Any) -> NDArray[Any]:
    """Decide labels, (n_samples, n_labels)."""
    if isinstance(model, MultiLabelXGBClassifier):
        return (proba(model, X) >= 0.5).astype(np.int64)
    X = model._check_X(X)
    if isinstance(model, DynamicChainClassifier):
        return model._decide(_chain_proba(model, X))
    if isinstance(model, OrderFreeChainClassifier):
        return _order_free_labels(model, X)
    found, rule = _margins(model, X), model.rule_
    if not isinstance(rule, JointLabelset):
        return model.calibration_.constant.in_labels(rule.decide(found).astype(np.int64))
    varied = rule.constant.varied
    states = LabelStates.begin(rule.booster, found[:, varied].astype(np.float32))
    decided = np.zeros(found.shape, np.int64)
    decided[:, varied] = LabelsetScore(JOINT, rule.prior, rule.known).best(states, N_BEAMS)
    return rule.constant.in_labels(decided)


def _margins(model: Any, X: Any) -> NDArray[Any]:
    if isinstance(model, MultiLabelXGBClassifier):
        return _by_booster(model, X, "margin")
    if isinstance(model, DynamicChainClassifier):
        return margins_of(_chain_proba(model, X))
    if isinstance(model, OrderFreeChainClassifier):
        return model.calibration_.constant.in_margins(_log_odds(model, X))
    if isinstance(model, TunedDecisionClassifierCV):
        return model.calibration_.margins(_mean(model.estimators_, X))
    if isinstance(model, MultiLabelClassifier):
        found = [_of_member(member, X) for member in model.members_]
        mixed = weighted_sum([member.share for member in model.members_], found)
        for level in getattr(model, "stacked_", ()):
            own = _of_member(level, second_level(found))
            mixed = weighted_sum([1 - level.share, level.share], [mixed, own])
        return model.calibration_.margins(mixed)
    return model._margins(X)  # forests and linear models have a form of their own


def _of_member(member: Any, X: Any) -> NDArray[Any]:
    return member.calibration.margins(_mean(member.estimators, X))


def _mean(estimators: Any, X: Any) -> NDArray[Any]:
    return np.mean([_margins(each, X).astype(np.float64) for each in estimators], axis=0)


def _by_booster(model: Any, X: Any, predict_type: str) -> NDArray[Any]:
    return model.booster_.inplace_predict(
        X,
        iteration_range=(0, model.best_iteration_ + 1),
        predict_type=predict_type,
        validate_features=False,
        strict_shape=True,
    )


def _chain_proba(model: Any, X: Any) -> NDArray[Any]:
    for state in model._run(X):
        last = state
    return model._proba_of(last)


def _first_margins(model: Any, X: Any) -> NDArray[Any]:
    found = model.calibration_.margins(_mean(model.estimators_, X))
    return found[:, model.calibration_.constant.varied].astype(np.float32)


def _log_odds(model: Any, X: Any) -> NDArray[Any]:
    """Predict with an order-free chain of which no label is revealed."""
    constant = model.calibration_.constant
    log_odds = np.zeros((X.shape[0], model.n_labels_), np.float32)
    if constant.varied.any():
        states = LabelStates.begin(model.booster_, _first_margins(model, X))
        log_odds[:, constant.varied] = states.log_odds()
    return log_odds


def _order_free_labels(model: Any, X: Any) -> NDArray[Any]:
    constant = model.calibration_.constant
    if model.prediction == "marginal":
        found = constant.in_proba(expit(_log_odds(model, X)))
        return (found >= 0.5).astype(np.int64)
    decided = np.tile(constant.value, (X.shape[0], 1))
    if constant.varied.any():
        states = LabelStates.begin(model.booster_, _first_margins(model, X))
        if model.prediction == "mode":
            decided[:, constant.varied] = probable_labelsets(states, model.n_beams).first()
        elif model.prediction == "subset_accuracy":
            decided[:, constant.varied] = model.labelset_score_.best(states, model.n_beams)
        else:
            rng = np.random.default_rng(model._seed)
            of_varied = draw_labelsets(states, model.n_draws, rng)
            drawn = rng.random((*of_varied.shape[:2], model.n_labels_)) < constant.proba
            drawn[:, :, constant.varied] = of_varied
            decided = SizedMarginals.of_samples(drawn.astype(np.int8)).maximise().labels
    return decided.astype(np.int64)
