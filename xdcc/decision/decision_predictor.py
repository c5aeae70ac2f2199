"""``DecisionPredictor``: calibrated margins of several classifiers, and a rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from xdcc.base.input_form import checked_rows
from xdcc.base.stored import stored
from xdcc.base.stored_types import Of
from xdcc.decision.calibration import ConstantLabels, LabelCalibration
from xdcc.decision.cuts import Floats
from xdcc.decision.rule import Decides
from xdcc.decision.threshold_rules import ThresholdRule
from xdcc.kernels.logistic import expit
from xdcc.prediction.builder import LayoutBuilder, NotFlat
from xdcc.prediction.predictors import MarginSource, MixtureMargins, Outputs


@dataclass(frozen=True, eq=False)
class EstimatorMargins(MarginSource):
    """Calibrated means of the margins of classifiers that have no flat form.

    Attributes
    ----------
    estimators : sequence of classifiers
        Of this or other packages.
    calibration : LabelCalibration
        Calibration of the mean.
    not_flat : str
        What has no flat form.
    """

    estimators: Sequence[Any]
    calibration: LabelCalibration
    not_flat: str

    def weights(self) -> tuple[list[Floats], Floats]:
        """Return a factor of each classifier and what is added."""
        slope, intercept = self.calibration.affine()
        return [slope / len(self.estimators)] * len(self.estimators), intercept

    def margins(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins; None if X has to be checked. Classifiers decide on their threads."""
        from xdcc.decision.out_of_fold import mean_margins  # imports scikit-learn

        form = getattr(self.estimators[0], "_input_form", None)
        if form is not None and not form.is_open:
            X = checked_rows(X, form.n_features)
            if X is None:
                return None
        n_labels = len(self.calibration.slope)
        return self.calibration.margins(mean_margins(self.estimators, X, n_labels))


def mean_source(
    estimators: Sequence[Any], calibration: LabelCalibration, n_features: int
) -> MarginSource:
    """Flatten the calibrated mean of classifiers, if they have a flat form.

    Classes whose margins are not a sum over members, such as chains, have a method ``_mean_source``
    of their own.
    """
    first, *others = estimators
    if hasattr(first, "_mean_source") and all(type(each) is type(first) for each in others):
        source: MarginSource = first._mean_source(estimators, calibration)
        return source
    n_labels = len(calibration.slope)
    builder = LayoutBuilder(n_features, n_labels)
    try:
        builder.add_member(estimators, 1.0, np.ones(n_labels), np.zeros(n_labels))
    except NotFlat as reason:
        return EstimatorMargins(estimators, calibration, str(reason))
    return MixtureMargins([builder.build(calibration.affine())], [], 0.0)


@stored
@dataclass(frozen=True, eq=False)
class DecisionPredictor:
    """A model with a decision rule; outputs are margins.

    Attributes
    ----------
    source : MarginSource
        Computes margins.
    rule : Decides
        Decision rule.
    constant : ConstantLabels
        Labels that are the same in all rows.
    """

    source: MarginSource
    rule: Decides
    constant: Annotated[ConstantLabels, Of(n_labels="source.n_outputs")]
    _thresholds: ClassVar[Any]
    _all_vary: ClassVar[bool]

    def _check_state(self) -> None:
        self.rule._check_labels(self.n_outputs)

    @property
    def n_outputs(self) -> int:
        """Number of labels."""
        return self.constant.n_labels

    @property
    def n_given(self) -> int:
        """Number of features of X, if what computes margins is flat."""
        source: Any = self.source
        return int(source.n_given)

    def __post_init__(self) -> None:
        """Take the thresholds, which are compared without the checks of rules.

        Predictions of a single row are faster without the search for constant labels.
        """
        rule = self.rule
        thresholds = np.asarray(rule._thresholds()) if isinstance(rule, ThresholdRule) else None
        object.__setattr__(self, "_thresholds", thresholds)
        object.__setattr__(self, "_all_vary", bool(self.constant.varied.all()))

    def outputs(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins; None if X has to be checked."""
        return self.source.margins(X, n_threads)

    def margins(self, outputs: Outputs) -> Outputs:
        """Return log-odds."""
        return outputs

    def proba(self, outputs: Outputs) -> Outputs:
        """Compute probabilities."""
        proba = expit(outputs)
        return proba if self._all_vary else self.constant.in_proba(proba)

    def labels(self, outputs: Outputs) -> NDArray[np.int64]:
        """Decide labels."""
        if self._thresholds is not None:
            labels = expit(outputs) >= self._thresholds
        else:
            labels = self.rule.decide(outputs.astype(np.float64, copy=False))
        labels = labels.astype(np.int64)
        return labels if self._all_vary else self.constant.in_labels(labels)
