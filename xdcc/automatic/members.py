"""Candidates that were trained, and mixtures of them.

A mixture's log-odds are a weighted mean of its members' calibrated log-odds. The weights come from
six greedy steps: each adds the candidate, maybe once more, with which the log-loss out of fold is
least, and the mixture after the best step is kept. So few weights can hardly overfit, and a
candidate that adds nothing stays out. Source: Caruana, Niculescu-Mizil, Crew, Ksikes: "Ensemble
Selection from Libraries of Models" (ICML 2004).

The order-free chain on a model's margins: a rule for the most probable *set* of labels.

Known labelsets are compared as if labels were independent given the probabilities; an order-free
chain (:mod:`xdcc.chain.order_free_training`) learns from them how labels depend. Its features are
the model's margins, so that it needs no other model: it is one more decision rule, whose only cost
is the training on out-of-fold margins. A labelset is compared by the mean of both
log-probabilities and a prior (:mod:`xdcc.chain.order_free_inference`). The equal weights are not
chosen anew for each data set: out of fold that gained nothing on emotions, yeast, flags and
medical.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from xdcc.automatic.candidates import MASKS_OF_CHAIN
from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import row_blocks
from xdcc.boosting.out_of_fold import LogLoss
from xdcc.chain.order_free_inference import (
    BLOCK_ENTRIES,
    LabelsetScore,
    LabelStates,
    held_out_candidates,
    walk_to,
)
from xdcc.chain.order_free_training import (
    folds_to_leave_out,
    order_free_params,
    train_order_free,
)
from xdcc.decision.calibration import ConstantLabels, LabelCalibration
from xdcc.decision.cuts import Floats
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.out_of_fold import mean_margins
from xdcc.decision.rule_choice import RuleTrial, trial_of
from xdcc.decision.rules import MeasureLike, Rule

_STEPS = 6
_LEAST_GAIN = 1e-4
"""A mixture has to lower the log-loss by so large a share to be preferred to one of fewer steps."""


@dataclass(frozen=True, eq=False)
class Member:
    """One candidate in the chosen model.

    Attributes
    ----------
    name : str
        Of the candidate.
    share : float
        Weight of its log-odds; the shares of a mixture sum to 1.
    estimators : list of estimators
        Boosters, one for each fold.
    calibration : LabelCalibration
        Of their mean log-odds.
    """

    name: str
    share: float
    estimators: list[BaseEstimator]
    calibration: LabelCalibration

    def margins(self, X: Any, n_labels: int) -> Floats:
        """Predict calibrated log-odds, `(n_samples, n_labels)`."""
        return self.calibration.margins(mean_margins(self.estimators, X, n_labels))


def mixed_margins(members: Sequence[Member], X: Any, n_labels: int) -> Floats:
    """Predict the log-odds of a mixture.

    Parameters
    ----------
    members : sequence of Member
        At least one.
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Checked features.
    n_labels : int
        Number of labels.

    Returns
    -------
    float64 array of shape (n_samples, n_labels)
    """
    total = members[0].share * members[0].margins(X, n_labels)
    for member in members[1:]:
        total += member.share * member.margins(X, n_labels)
    return total


def log_loss(margins: Floats, data: FitData) -> float:
    """Average the log-loss over known labels.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_labels)
        Log-odds.
    data : FitData
        Labels and weights.

    Returns
    -------
    float
    """
    n_known = data.known.sum(axis=1)
    counted = n_known.sum() if data.sample_weight is None else data.sample_weight @ n_known
    return LogLoss(data.Y, data.sample_weight)(margins) / float(counted)


def mixture_shares(margins: Sequence[Floats], data: FitData) -> Floats:
    """Find the weight of each candidate in the mixture of the least log-loss.

    Parameters
    ----------
    margins : sequence of float64 arrays of shape (n_samples, n_labels)
        Calibrated log-odds of each candidate, out of fold.
    data : FitData
        Labels and weights.

    Returns
    -------
    float64 array of shape (n_candidates,)
        Sums to 1; a single 1 if no mixture is better than the best candidate.
    """
    times = np.zeros(len(margins))
    total = np.zeros(margins[0].shape)
    least, shares = np.inf, times
    for step in range(1, _STEPS + 1):
        losses = [log_loss((total + each) / step, data) for each in margins]
        chosen = int(np.argmin(losses))
        total += margins[chosen]
        times[chosen] += 1
        if losses[chosen] < least * (1 - _LEAST_GAIN):
            least, shares = losses[chosen], times / step
    return shares


_JOINT = 0.5
_PRIORS = (0.0, 0.25, 0.5, 0.75, 1.0)
_N_BEAMS = 8
_LEARNING_RATE = 0.1
"""Twice that of a chain by itself: half as many boosting rounds."""
_MOST_ROUNDS = 500


@dataclass(frozen=True, eq=False)
class JointLabelset(Rule):
    """The labelset of the highest mean log-probability, by a chain and by independent labels.

    Attributes
    ----------
    booster : xgboost.Booster
        Of an order-free chain of the labels that are not constant.
    constant : ConstantLabels
        The others.
    known : KnownLabelsets
        Of training, without constant labels.
    prior : float
        Weight of the logarithm of a labelset's frequency.
    """

    name: ClassVar[str] = "joint_labelset"
    booster: xgb.Booster = field(repr=False)
    constant: ConstantLabels = field(repr=False)
    known: KnownLabelsets = field(repr=False)
    prior: float

    @property
    def params(self) -> dict[str, Any]:
        """The weight of the prior."""
        return {"prior": self.prior}

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        varied = self.constant.varied
        own = margins[:, varied].astype(np.float32)
        score = LabelsetScore(_JOINT, self.prior, self.known)
        labels = np.zeros(margins.shape, dtype=np.int8)
        for rows in row_blocks((len(own), own.shape[1] * _N_BEAMS), BLOCK_ENTRIES):
            states = LabelStates.begin(self.booster, own[rows])
            labels[rows, varied] = score.best(states, _N_BEAMS)
        return self.constant.in_labels(labels)


class JointTrial(NamedTuple):
    """Scores of the chain on rows that it has not seen.

    Attributes
    ----------
    trial : RuleTrial
        A `JointLabelset` for each prior.
    n_rounds : int
        Of boosting.
    log_loss : float
        Of the labels of a row as a set, averaged over its labels.
    """

    trial: RuleTrial
    n_rounds: int
    log_loss: float


def try_joint(
    data: FitData,
    folds: NDArray[np.intp],
    *,
    measure: MeasureLike,
    seed: int,
    n_jobs: int | None,
) -> JointTrial | None:
    """Train a chain on out-of-fold margins, and evaluate its rules on folds it has not seen.

    Parameters
    ----------
    data : FitData
        X are margins, calibrated and out of fold.
    folds : int array of shape (n_samples,)
        Fold of each row.
    measure : str, Measure or callable
        What the rules are evaluated by.
    seed : int
        Of revealed labels and of the boosters.
    n_jobs : int or None
        Threads.

    Returns
    -------
    JointTrial or None
        None if labels do not depend on each other, no two folds have rows of which every label is
        known, or so many rows are there that not all folds are left out in training.
    """
    constant = ConstantLabels.of(data)
    varied = constant.varied
    own = data.of_labels(varied)
    all_left_out = folds_to_leave_out(folds) > folds.max()
    if varied.sum() < 2 or len(np.unique(folds[own.whole])) < 2 or not all_left_out:
        return None
    trained = train_order_free(
        own,
        folds,
        order_free_params(learning_rate=_LEARNING_RATE, seed=seed, n_jobs=n_jobs),
        n_estimators=_MOST_ROUNDS,
        n_masks=MASKS_OF_CHAIN,
    )
    if trained.booster is None:
        return None

    Y = data.Y
    predicted = [np.zeros(Y.shape, dtype=np.int64) for _ in _PRIORS]
    every, total = np.ones(len(Y), dtype=bool), np.zeros(len(Y))
    for rows, booster, found in held_out_candidates(
        trained.of_folds, own, folds, n_beams=_N_BEAMS, wanted=every
    ):
        for labels, prior in zip(predicted, _PRIORS, strict=True):
            labels[np.ix_(rows, varied)] = found.best(_JOINT, prior)
        states = LabelStates.begin(booster, own.X[rows])
        for step in walk_to(states, own.Y[rows]):
            total[rows] -= step.log_prob
    # Of labels that vary, the probability of a constant one is NaN.
    total -= np.nansum(np.log(np.abs(1 - Y - constant.proba)), axis=1)
    log_loss = float(data.weight @ total / (data.weight @ data.known.sum(axis=1)))
    known = KnownLabelsets.of_data(own)
    rules = [JointLabelset(trained.booster, constant, known, prior) for prior in _PRIORS]
    decided = [constant.in_labels(each).astype(np.int8) for each in predicted]
    trial = trial_of(rules, decided, data, measure)
    return JointTrial(trial, trained.booster.num_boosted_rounds(), log_loss)
