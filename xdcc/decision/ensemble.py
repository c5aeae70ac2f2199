"""``DecidingEnsemble``: classifiers that predict together, calibrated and with a decision rule."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.decision.calibration import margins_of
from xdcc.decision.cuts import Floats
from xdcc.decision.label_calibration import LabelCalibration
from xdcc.decision.probabilities import proba_of
from xdcc.decision.rules import Rule
from xdcc.decision.wrapper import Decider


class DecidingEnsemble(Decider):
    """What predicts by log-odds of several classifiers, calibrated, and by a rule."""

    _fitted_attribute = "rule_"

    calibration_: LabelCalibration
    rule_: Rule

    @abstractmethod
    def _margins(self, X: Any) -> Floats:
        """Predict the log-odds of the classifiers together, `(n_samples, n_labels)`."""

    def _proba(self, X: Any) -> Floats:
        return self.calibration_.proba(self._margins(X))

    def _labels(self, X: Any) -> NDArray[np.int64]:
        return self.calibration_.settle(self.rule_.predict(self._proba(X)))


def mean_margins(models: Sequence[Any], X: Any, n_labels: int) -> Floats:
    """Average the log-odds of several models.

    Parameters
    ----------
    models : sequence of classifiers
        Fitted ones, with `predict_proba` or `decision_function`.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        What they take.
    n_labels : int
        Number of labels.

    Returns
    -------
    float64 array of shape (n_samples, n_labels)
    """
    found = (margins_of(proba_of(model, X, n_labels)) for model in models)
    total = next(found)
    for margins in found:
        total += margins
    return total / len(models)
