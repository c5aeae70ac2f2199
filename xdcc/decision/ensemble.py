"""``DecidingEnsemble``: classifiers that predict together, calibrated and with a decision rule."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.domains import check_domain
from xdcc.decision.cuts import Floats
from xdcc.decision.label_calibration import LabelCalibration
from xdcc.decision.label_costs import LabelCosts
from xdcc.decision.measures import MeasureName
from xdcc.decision.rules import MeasureLike, Rule
from xdcc.decision.wrapper import Decider, DecisionData


class DecidingEnsemble(Decider):
    """What predicts by log-odds of several classifiers, calibrated, and by a rule."""

    _fitted_attribute = "rule_"

    measure: MeasureLike
    calibration_: LabelCalibration
    rule_: Rule

    def _check_params(self) -> None:
        super()._check_params()
        if not callable(self.measure) and not isinstance(self.measure, LabelCosts):
            check_domain("measure", self.measure, MeasureName())

    def _begin_decision(self, X: Any, Y: Any, sample_weight: Any) -> DecisionData:
        """Check the costs of the labels, too, before anything is trained."""
        data = super()._begin_decision(X, Y, sample_weight)
        if isinstance(self.measure, LabelCosts):
            self.measure.prices(self.n_labels_)
        return data

    def _measure_in_words(self) -> str:
        """Tell what axes of figures say."""
        if isinstance(self.measure, str):
            return self.measure
        return "minus costs of a row" if isinstance(self.measure, LabelCosts) else "measure"

    @abstractmethod
    def _margins(self, X: Any) -> Floats:
        """Predict the log-odds of the classifiers together, `(n_samples, n_labels)`."""

    def _proba(self, X: Any) -> Floats:
        return self.calibration_.proba(self._margins(X))

    def _labels(self, X: Any) -> NDArray[np.int64]:
        return self.calibration_.settle(self.rule_.predict(self._proba(X)))
