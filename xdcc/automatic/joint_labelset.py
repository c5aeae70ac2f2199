"""The order-free chain on a model's margins: a rule for the most probable *set* of labels.

Known labelsets are compared as if labels were independent given the probabilities; an order-free
chain (:mod:`xdcc.chain.order_free_training`) learns from them how labels depend. Its features are
the model's margins, so that it needs no other model: it is one more decision rule, whose only cost
is the training on out-of-fold margins. A labelset is compared by the mean of both
log-probabilities and a prior (:mod:`xdcc.chain.order_free_inference`). The equal weights are not
chosen anew for each data set: out of fold that gained nothing on emotions, yeast, flags and
medical.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.automatic.boosters import PER_TREE, PER_VISIT
from xdcc.automatic.compiled_joint_labelset import JOINT, N_BEAMS, CompiledJointLabelset
from xdcc.automatic.shape import Shape
from xdcc.base.fit_data import FitData
from xdcc.base.kept import kept
from xdcc.base.state_checks import check_boosters, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Of
from xdcc.chain.label_booster import CompiledBooster
from xdcc.chain.order_free_inference import held_out_candidates
from xdcc.chain.order_free_training import (
    folds_to_leave_out,
    order_free_params,
    train_order_free,
)
from xdcc.decision.calibration import ConstantLabels
from xdcc.decision.cuts import Floats
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.rule import MetricLike, Rule
from xdcc.decision.rule_choice import RuleTrial, trial_of

_PRIORS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LEARNING_RATE = 0.1
"""Twice that of a chain by itself: half as many boosting rounds."""
_MOST_ROUNDS = 500
_N_MASKS = 4
"""How often a row is repeated with other labels revealed."""

_MOST_LABELS = 20
_DEPTH = 4
_USUAL_ROUNDS = 150


@stored
@dataclass(frozen=True, eq=False)
class JointLabelset(Rule):
    """The labelset of the highest mean log-probability, by a chain and by independent labels.

    Attributes
    ----------
    booster : xgboost.Booster
        Booster of an order-free chain; constant labels are left out.
    constant : ConstantLabels
        The others.
    known : KnownLabelsets
        Labelsets of the training data, without constant labels.
    prior : float
        Weight of the logarithm of a labelset's frequency.
    """

    name: ClassVar[str] = CompiledJointLabelset.name
    booster: xgb.Booster = field(repr=False)
    constant: ConstantLabels = field(repr=False)
    known: Annotated[KnownLabelsets, Of(n_labels="constant.n_varied")] = field(repr=False)
    prior: float

    def _check_state(self) -> None:
        n_varied = self.constant.n_varied
        check_boosters([self.booster], 2 * n_varied, n_varied)

    def _check_labels(self, n_labels: int) -> None:
        require(self.constant.n_labels == n_labels, "constant labels of the rule")

    @property
    def params(self) -> dict[str, Any]:
        """The weight of the prior."""
        return {"prior": self.prior}

    def flat(self) -> CompiledJointLabelset:
        """Return the rule with a flat booster."""

        def make() -> CompiledJointLabelset:
            booster = CompiledBooster.of(self.booster, int(self.constant.varied.sum()))
            return CompiledJointLabelset(booster, self.constant, self.known, self.prior)

        return kept(self, "flat", (self.booster,), make)

    def decide(self, margins: Floats) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        return self.flat().decide(margins)


def chain_seconds(shape: Shape) -> float:
    """Estimate what :func:`try_joint` takes on one core.

    Parameters
    ----------
    shape : Shape
        Shape of the training data.

    Returns
    -------
    float
        Seconds; infinite with many labels, as a search for labelsets takes long.

    Examples
    --------
    >>> chain_seconds(Shape(400, 70, 6, 400 * 70, 5)) < 5
    True
    """
    if shape.n_labels > _MOST_LABELS:
        return np.inf
    n_entries = _N_MASKS * shape.n_rows * 2 * shape.n_labels
    n_trees = (shape.n_folds + 1) * _USUAL_ROUNDS
    return n_trees * (n_entries * _DEPTH * PER_VISIT + PER_TREE)


def try_joint(
    data: FitData,
    folds: NDArray[np.intp],
    *,
    measure: MetricLike,
    seed: int,
    n_jobs: int | None,
) -> RuleTrial | None:
    """Train a chain on out-of-fold margins, and evaluate its rules on folds it has not seen.

    Parameters
    ----------
    data : FitData
        X are margins, calibrated and out of fold.
    folds : int array of shape (n_samples,)
        Fold of each row.
    measure : str, Counted or callable
        Metric that evaluates the rules.
    seed : int
        Seed for revealed labels and boosters.
    n_jobs : int or None
        Threads.

    Returns
    -------
    RuleTrial or None
        A `JointLabelset` for each prior. None if labels do not depend on each other, no two folds
        have rows of which every label is known, or there are so many rows that not all folds are
        left out in training.
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
        n_masks=_N_MASKS,
    )
    if trained.booster is None:
        return None

    Y = data.Y
    predicted = [np.zeros(Y.shape, dtype=np.int64) for _ in _PRIORS]
    every = np.ones(len(Y), dtype=bool)
    for rows, _, found in held_out_candidates(
        trained.of_folds, own, folds, n_beams=N_BEAMS, wanted=every
    ):
        for labels, prior in zip(predicted, _PRIORS, strict=True):
            labels[np.ix_(rows, varied)] = found.best(JOINT, prior)
    known = KnownLabelsets.of_data(own)
    rules = [JointLabelset(trained.booster, constant, known, prior) for prior in _PRIORS]
    decided = [constant.in_labels(each).astype(np.int8) for each in predicted]
    return trial_of(rules, decided, data, folds, measure)
