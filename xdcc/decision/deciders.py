"""What estimators have in common that decide for other classifiers, one or several.

X goes to these as it is, and they check it: so it may be whatever they take. `DecidingEnsemble` is
of classifiers that predict together, calibrated and with a decision rule.
"""

from abc import abstractmethod
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from xdcc.base.domains import Classifier, check_domain
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.fit_data import check_weight
from xdcc.base.labels import Labels, check_labels
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.cuts import Floats
from xdcc.decision.label_costs import LabelCosts
from xdcc.decision.measures import MeasureName
from xdcc.decision.rules import MeasureLike, Rule


class DecisionData(NamedTuple):
    """What deciding needs of the input of ``fit``.

    Attributes
    ----------
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown.
    weight : float32 array of shape (n_samples,) or None
        Weights of the rows.
    """

    Y: Labels
    weight: NDArray[Any] | None


class Decider(MultiLabelEstimator):
    """An estimator that leaves it to other classifiers what X holds."""

    _fitted_attribute: ClassVar[str]
    """What a fitted one has and another has not."""

    def _begin_decision(self, X: Any, Y: Any, sample_weight: Any) -> DecisionData:
        """Check parameters, labels and weights, and set what the data say."""
        self._check_params()
        # Numbers of rows and features, names of features; the estimator checks what X holds.
        validate_data(self, X, accept_sparse=True, dtype=None, ensure_all_finite=False)
        labels = check_labels(Y, type(self).__name__)
        check_consistent_length(X, labels.Y)
        weight = check_weight(sample_weight, len(labels.Y))
        self.n_labels_ = len(labels.names)
        self.label_names_ = labels.names
        self.classes_ = labels.classes
        self._labels_are_named = labels.named
        return DecisionData(labels.Y, weight)

    def _check_X(self, X: Any) -> Any:
        """Leave it to the classifiers what X holds."""
        check_is_fitted(self, self._fitted_attribute)
        return X


DECIDED_FOR = Classifier(("predict_proba", "decision_function"))
"""Classifiers that decision rules can be learned for."""


class ClassifierWrapper(Decider):
    """A classifier around another one, its `estimator`."""

    estimator: Any

    def __sklearn_tags__(self) -> Tags:
        """Tags: X may be what it may be for the estimator."""
        tags = super().__sklearn_tags__()
        if DECIDED_FOR.accepts(self._wrapped()):  # else `fit` says what is wrong
            tags.input_tags = get_tags(self._wrapped()).input_tags
        return tags

    def _wrapped(self) -> Any:
        """Get the other classifier, not fitted."""
        return self.estimator


class DecidingEnsemble(Decider):
    """What predicts by log-odds of several classifiers, calibrated, and by a rule."""

    _stored = MappingProxyType(
        {
            "calibration_": LabelCalibration,
            "folds_": NDArray[np.int64],
            "oof_proba_": NDArray[np.float64],
            "best_score_": float,
        }
    )
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
        return self.calibration_.constant.in_labels(self.rule_.predict(self._proba(X)))
