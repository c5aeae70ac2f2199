"""``margin_sum``: a model as a weighted sum of the margins of its members.

Folds are averaged, calibrated and mixed by linear functions of margins (log-odds). So the margins
of any such model are those of its members, each times a number for each label, plus a number. A
mixture with a second level is not such a model: it is a member of its own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from xdcc.automatic import MultiLabelClassifier
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.cuts import Floats
from xdcc.decision.deciders import RuleClassifier
from xdcc.distillation import DistilledClassifier


class Part(NamedTuple):
    """A member of a model.

    Attributes
    ----------
    model : estimator
        A fitted classifier: not an ensemble of folds, and no mixture but one with a second level.
    scale : float64 array of shape (n_labels,)
        Factor of its margins; 0 for constant labels.
    """

    model: Any
    scale: Floats


class MarginSum(NamedTuple):
    """Margins of a model: the sum of ``scale * margins`` over `parts`, plus `intercept`.

    Attributes
    ----------
    parts : list of Part
        At least one.
    intercept : float64 array of shape (n_labels,)
    """

    parts: list[Part]
    intercept: Floats

    def add(self, model: Any, scale: Floats) -> None:
        """Add the margins of a fitted classifier, times `scale`."""
        if type(model) is MultiLabelClassifier and not has_second_level(model):
            scale = self._calibrate(model.calibration_, scale)
            for member in model.members_:
                of_member = self._calibrate(member.calibration, member.share * scale)
                for estimator in member.estimators:
                    self.add(estimator, of_member / len(member.estimators))
        elif type(model) in (TunedDecisionClassifierCV, DistilledClassifier):
            scale = self._calibrate(model.calibration_, scale)
            for estimator in model.estimators_:
                self.add(estimator, scale / len(model.estimators_))
        else:
            self.parts.append(Part(model, scale))

    def _calibrate(self, calibration: LabelCalibration, scale: Floats) -> Floats:
        """Add the intercepts of a calibration; return its slopes times `scale`."""
        constant = calibration.constant
        start = np.where(constant.varied, calibration.intercept, logit(constant.proba))
        self.intercept[:] += scale * start
        return np.where(constant.varied, scale * calibration.slope, 0.0)


def has_second_level(model: Any) -> bool:
    """Tell whether a model is a mixture with a booster on the margins of its members."""
    return type(model) is MultiLabelClassifier and bool(getattr(model, "stacked_", ()))


def margin_sum(model: Any, refusal: Callable[[Any], str | None]) -> MarginSum:
    """Write a model as a weighted sum of margins.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this package.
    refusal : callable
        Says of a member why it cannot be part of the sum, None if it can.

    Returns
    -------
    MarginSum

    Raises
    ------
    TypeError
        If a member is refused.
    NotFittedError
        Before `fit`.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=2, random_state=0)
    >>> booster = xdcc.MultiLabelXGBClassifier(n_estimators=5)
    >>> model = TunedDecisionClassifierCV(booster, cv=2, calibrate=False).fit(data.X, data.Y)
    >>> [part.scale for part in margin_sum(model, lambda member: None).parts]
    [array([0.5, 0.5]), array([0.5, 0.5])]
    """
    if not isinstance(model, MultiLabelEstimator):
        raise TypeError(f"{refusal(model) or f'{type(model).__name__} is not a model of xdcc'}.")
    check_is_fitted(model, "rule_" if isinstance(model, RuleClassifier) else None)
    total = MarginSum([], np.zeros(model.n_labels_))
    total.add(model, np.ones(model.n_labels_))
    for part in total.parts:
        reason = refusal(part.model)
        if reason is not None:
            raise TypeError(f"{reason}.")
    return total
