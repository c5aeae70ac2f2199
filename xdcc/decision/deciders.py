"""Base classes of estimators that decide for other classifiers, one or several.

X is checked once, for all of them, if they are of this package; others get X as the user gave it
and check it themselves. `RuleClassifier` predicts labels by a decision rule, and
`DecidingEnsemble` is for several classifiers that learn calibration and rule.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from xdcc.base.checks import check_fit_labels, warn_of_mistakes
from xdcc.base.contributions import Contributions
from xdcc.base.domains import Choice, Classifier, Either, check_domain
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.features import leave_features
from xdcc.base.fit_data import FitData
from xdcc.base.input_form import SparseZeros, UnknownCategories
from xdcc.base.kept import kept
from xdcc.base.labels import check_labels
from xdcc.base.pyplot import require_pyplot
from xdcc.base.state_checks import require
from xdcc.base.stored_types import OPTIONAL, Of, Shape
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.constraints import Constraint, LabelConstraints, check_constraints
from xdcc.decision.decision_predictor import DecisionPredictor
from xdcc.decision.label_costs import LabelCosts
from xdcc.decision.label_metrics import check_metric, try_callable
from xdcc.decision.rule import MetricLike, Rule, decider_of
from xdcc.decision.rule_choice import prices_of
from xdcc.decision.rules import RuleKind, RuleKinds, try_kinds
from xdcc.prediction.predictors import MarginSource, PredictsByKernel


class Decider(MultiLabelEstimator):
    """An estimator that decides for other classifiers."""

    @abstractmethod
    def _predictors(self) -> Sequence[Any]:
        """Get the fitted classifiers; all take X in the same form."""

    def _given(self) -> Any:
        """Get the classifier that the user gave; None if they are boosters and what suits them."""
        return None

    def _begin_fit(self, X: Any, Y: Any, sample_weight: Any = None) -> FitData:
        """Check parameters and data, X as the classifiers need it, and learn from them."""
        given = self._given()
        if isinstance(X, FitData) or given is None:
            return super()._begin_fit(X, Y, sample_weight)
        self._check_params()
        if not isinstance(given, MultiLabelEstimator):
            return self._begin_unchecked(X, Y, sample_weight)
        given._check_params()
        return super()._begin_fit(X, Y, sample_weight)

    def _begin_unchecked(self, X: Any, Y: Any, sample_weight: Any) -> FitData:
        """Begin as `_begin_fit` with an X that other classifiers check; unknown labels stay."""
        left = self._learn_X(X)
        data = check_fit_labels(self, Y, sample_weight)
        self._refuse_entry_weights(data)
        check_consistent_length(left, data.Y)
        warn_of_mistakes(X, Y, data)
        return data._replace(X=left, input_form=self._input_form)

    def _learn_X(self, X: Any) -> Any:
        given = self._given()
        if given is None or isinstance(given, MultiLabelEstimator):
            return super()._learn_X(X)
        self._input_form, left = leave_features(X, type(self).__name__)
        return left

    def _check_Y(self, Y: Any) -> FitData:
        given = self._given()
        soft = getattr(given, "soft_labels", False)
        data = check_labels(Y, type(self).__name__, soft=soft)
        if soft and ((data.Y > 0) & (data.Y < 1)).any():
            raise ValueError(
                f"{type(self).__name__} compares predictions with labels, which must be 0, 1 or "
                f"NaN (unknown). {type(given).__name__} alone takes probabilities."
            )
        return data

    @property
    def _takes_categories(self) -> bool:  # type: ignore[override]
        given = self._given()
        return given is None or getattr(given, "_takes_categories", False)

    @property
    def _takes_entry_weights(self) -> bool:  # type: ignore[override]
        given = self._given()
        return given is None or getattr(given, "_takes_entry_weights", False)

    def _sparse_zeros(self) -> SparseZeros | None:
        given = self._given()
        if given is None:
            return "missing"
        return given._sparse_zeros() if isinstance(given, MultiLabelEstimator) else None

    def _unknown_categories(self) -> UnknownCategories:
        given = self._given()
        if given is None:
            return getattr(self, "unknown_categories", "separate")
        return given._unknown_categories() if isinstance(given, MultiLabelEstimator) else "missing"

    def _check_state(self) -> None:
        """Check that the classifiers can read the same X, which is checked once for all of them."""
        super()._check_state()
        form, predictors = self._input_form, self._predictors()
        require(len(predictors) > 0, "the number of classifiers")
        for predictor in predictors:
            is_ours = isinstance(predictor, MultiLabelEstimator)
            require(is_ours or form.is_open, "a classifier")
            if is_ours:
                other = predictor._input_form
                require(predictor.n_labels_ == self.n_labels_, "n_labels_ of a classifier")
                require(other.is_open == form.is_open, "a classifier")
                require(other.n_features == form.n_features, "n_features_in_ of a classifier")
                require(other.has_categories_of(form), "categories_ of a classifier")


DECIDED_FOR = Classifier(("predict_proba", "decision_function"))
"""Classifiers that decision rules can be learned for."""


class ClassifierWrapper(Decider):
    """A classifier around another one, its `estimator`."""

    estimator: Any

    def __sklearn_tags__(self) -> Tags:
        """Tags: X may be what it may be for the estimator."""
        tags = super().__sklearn_tags__()
        if DECIDED_FOR.accepts(self.estimator):  # else `fit` says what is wrong
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _given(self) -> Any:
        return self.estimator


class RuleClassifier(PredictsByKernel[DecisionPredictor], Decider):
    """A classifier that predicts labels by a decision rule, from the log-odds of others."""

    calibration_: Annotated[LabelCalibration, Of(n_labels="n_labels_")]
    rule_: Rule

    def _check_state(self) -> None:
        super()._check_state()
        self.rule_._check_labels(self.n_labels_)

    @abstractmethod
    def _margin_source(self) -> MarginSource:
        """Flatten the calibrated log-odds of the classifiers together."""

    @abstractmethod
    def _joint_contributions(self, X: Any) -> Contributions:
        """Explain the log-odds of the classifiers together."""

    def _predicts_from(self) -> tuple[Any, ...]:
        return self.rule_, self.calibration_, *self._predictors()

    def _make_predictor(self) -> DecisionPredictor:
        return DecisionPredictor(
            self._margin_source(), decider_of(self.rule_), self.calibration_.constant
        )

    def _contributions(self, X: Any) -> Contributions:
        return self.calibration_.contributions(self._joint_contributions(X))


class DecidingEnsemble(RuleClassifier):
    """Several classifiers, calibrated, with the rule that is best for a metric."""

    measure: MetricLike
    rules: Literal["auto"] | Sequence[RuleKind]
    constraints: Mapping[str, Constraint] | None
    folds_: NDArray[np.intp]
    oof_proba_: Annotated[NDArray[np.float64], Shape("folds_", "n_labels_")]
    best_score_: float
    cv_results_: Annotated[dict[str, Any], OPTIONAL]  # absent in files of 0.2, as the next
    constraints_: Annotated[dict[str, Any], OPTIONAL]

    def _check_params(self) -> None:
        super()._check_params()
        check_constraints(self.constraints)
        check_domain("rules", self.rules, Either(Choice(("auto",)), RuleKinds()))
        if not callable(self.measure) and not isinstance(self.measure, LabelCosts):
            self._check_metric()

    def _check_metric(self) -> None:
        """Stop if `measure`, not a callable or costs, is not a name that the estimator takes."""
        check_metric(self.measure)

    def _begin_fit(self, X: Any, Y: Any, sample_weight: Any = None) -> FitData:
        """Check metric and constraints by the labels, too, before anything is trained."""
        data = super()._begin_fit(X, Y, sample_weight)
        if callable(self.measure):
            try_callable(self.measure, data)
        self._constraints_of_labels()
        try_kinds(self._kinds() or (), data, self._metric_of_labels())
        return data

    def _kinds(self) -> Sequence[RuleKind] | None:
        """Return the kinds of rules to choose from; None for all that suit."""
        return None if isinstance(self.rules, str) else self.rules

    def _metric_of_labels(self) -> MetricLike:
        """Return the metric; costs by name as costs of each label, checked."""
        measure = self.measure
        if not isinstance(measure, LabelCosts):
            return measure

        def named() -> LabelCosts:
            costs = measure.named(self.label_names_.tolist())
            costs.prices(self.n_labels_)
            return costs

        return kept(self, "metric", (measure, self._output_form), named)

    def _constraints_of_labels(self) -> LabelConstraints | None:
        """Return the constraints by the positions of labels; None if there are none."""

        def found() -> LabelConstraints:
            return LabelConstraints.of(self.constraints, self.label_names_.tolist())

        constraints = kept(self, "constraints", (self.constraints, self._output_form), found)
        return constraints if constraints.names else None

    def _report_constraints(self, data: FitData, folds: NDArray[np.intp]) -> None:
        """Set `constraints_`, from margins out of fold, the X of `data`."""
        constraints, counts = self._constraints_of_labels(), data.counts
        self.constraints_ = {}
        if constraints:
            self.constraints_ = constraints.report(
                data.take(counts), folds[counts], prices_of(self._metric_of_labels(), data)
            )

    def plot_rules(self, ax: Any = None) -> Any:
        """Draw the score of each kind of rule, corrected for the choice of its parameters.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            A bar for each kind of rule, the chosen one in another colour, with the standard error
            of its best configuration.

        Raises
        ------
        ImportError
            Without Matplotlib.
        NotFittedError
            Before `fit`.
        """
        check_is_fitted(self)
        table = self.cv_results_
        best: dict[str, int] = {}
        for number, (kind, score) in enumerate(zip(table["rule"], table["score"], strict=True)):
            if kind not in best or score > table["score"][best[kind]]:
                best[kind] = number
        columns = {name: [column[i] for i in best.values()] for name, column in table.items()}
        columns["chosen"] = [kind == self.rule_.name for kind in best]
        if ax is None:
            _, ax = require_pyplot("plot_rules").subplots(layout="constrained")
        ax.barh(
            list(best),
            columns["corrected_score"],
            xerr=columns["standard_error"],
            color=["C1" if chosen else "C0" for chosen in columns["chosen"]],
        )
        ax.invert_yaxis()
        of_costs = "minus costs of a row" if isinstance(self.measure, LabelCosts) else "measure"
        ax.set_xlabel(self.measure if isinstance(self.measure, str) else of_costs)
        return ax
