"""``ThresholdClassifier``: any classifier, with tuned thresholds.

``fit`` gets probabilities for rows that the classifier was not trained on (by cross-validation
or from an `eval_set`), chooses thresholds on them, and trains the classifier on all rows. See
``out_of_fold.py`` for how its predictions become an array of probabilities.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from xdcc.base.domains import Anything, Choice, Either, Number
from xdcc.base.estimator import (
    EvalSet,
    MultiLabelEstimator,
    checked_pairs,
    declares_parameters,
)
from xdcc.base.fit_data import FitData
from xdcc.base.folds import make_folds
from xdcc.base.groups import read_groups
from xdcc.base.labels import Labels, check_labels_as_in_fit, label_frequency
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import Shape
from xdcc.decision.cuts import Floats, apply_thresholds, check_thresholds
from xdcc.decision.deciders import DECIDED_FOR, ClassifierWrapper
from xdcc.decision.label_costs import LabelCosts
from xdcc.decision.label_metrics import check_metric, rows_that_count
from xdcc.decision.out_of_fold import cross_fit, fit_on, proba_by, trained_on
from xdcc.decision.rule import MetricLike
from xdcc.decision.thresholds import pcut, per_label_pcut, threshold_for, thresholds_for

Method = Literal["fixed", "pcut", "per_label_pcut", "global", "per_label"]

METHODS: tuple[str, ...] = get_args(Method)
"""The ways to choose thresholds."""


@stored
@declares_parameters
class ThresholdClassifier(ClassifierWrapper):
    """A classifier whose labels are predicted from chosen thresholds instead of 0.5.

    Parameters
    ----------
    estimator : estimator
        Any classifier with `predict_proba` or `decision_function`, of this package or in
        scikit-learn's manner: one array of probabilities, or a list of one for each label.
    method : {"fixed", "pcut", "per_label_pcut", "global", "per_label"}, default="global"
        How thresholds are chosen: `threshold` as it is; one for all labels
        (:func:`~xdcc.decision.pcut`) or one for each label
        (:func:`~xdcc.decision.per_label_pcut`) with which the validation data get as many
        labels as the training data have; one for all labels
        (:func:`~xdcc.decision.best_threshold`) or for each
        (:func:`~xdcc.decision.best_thresholds_per_label`) with which `measure` is highest on
        the validation data.
    threshold : float, array-like of shape (n_labels,) or dict, default=0.5
        With ``method="fixed"``: the threshold of all labels or of each; or of some by name, and
        0.5 of the others.
    measure : str, LabelCosts or callable, default="example_f1"
        With ``"global"`` and ``"per_label"``: what to maximise. See
        :func:`~xdcc.decision.best_threshold`.
    cv : int, "prefit" or None, default=3
        Number of folds that the validation probabilities come from: each fold's are predicted
        by a clone trained on the others. With ``"prefit"`` the estimator is fitted already and
        is not trained again; what `fit` gets is the validation data. None needs an `eval_set`.
        ``method="fixed"`` makes no folds.
    min_positive : int, default=10
        With ``"per_label"``: labels with fewer positive rows in the validation data get the
        threshold for all labels.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None is the seed 0. The estimator has a seed of its own.

    Attributes
    ----------
    estimator_ : estimator
        Trained on all rows; with ``cv="prefit"`` the estimator that was given.
    thresholds_ : float64 array of shape (n_labels,)
        A label is predicted where its probability is at least as high.
    {fitted}

    Notes
    -----
    Training costs `cv` smaller models besides the one on all rows. Labels that are unknown (NaN
    in Y) do not count when thresholds are chosen.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, random_state=0)
    >>> forest = xdcc.RandomDecisionTreeClassifier(n_estimators=20, random_state=0)
    >>> tuned = xdcc.ThresholdClassifier(forest, measure="micro_f1").fit(data.X, data.Y)
    >>> tuned.thresholds_.round(2)
    array([0.31, 0.31, 0.31, 0.31, 0.31])
    >>> tuned.predict(data.X[:2])
    array([[1, 0, 1, 0, 1],
           [1, 1, 1, 0, 1]])
    """

    _domains = MappingProxyType(
        {
            "estimator": DECIDED_FOR,
            "method": Choice(METHODS),
            "threshold": Anything(),
            "measure": Anything(),
            "cv": Either(Number(low=2, whole=True), Choice(("prefit",)), None),
            "min_positive": Number(low=0, whole=True),
        }
    )

    estimator: Any = field(kw_only=False)
    method: Method = "global"
    threshold: float | ArrayLike | Mapping[str, float] = 0.5
    measure: str | LabelCosts | Callable[..., float] = "example_f1"
    cv: int | Literal["prefit"] | None = 3
    min_positive: int = 10
    random_state: int | np.random.RandomState | None = None

    thresholds_: Annotated[Floats, Shape("n_labels_")] = learned()
    estimator_: BaseEstimator = learned()

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        eval_set: EvalSet | None = None,
    ) -> Self:
        """Choose thresholds and train the estimator.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Features, in any form that the estimator takes.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1, or, if the estimator takes it, NaN for unknown.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), optional
            Weights of the rows, or of entries if the estimator takes them, for the estimator and
            for the metric or density. Rows of an `eval_set` count once.
        {groups}
        eval_set : sequence of pairs (X, Y), optional
            The last pair is the validation data that thresholds are chosen on; no folds are made
            then.

        Returns
        -------
        self : ThresholdClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range, thresholds are to be chosen without validation data,
            the data are not as described, the `eval_set` has other labels than Y, or the
            estimator's probabilities are not one array of shape (n_samples, n_labels).
        NotFittedError
            With ``cv="prefit"``, if the estimator is not fitted.
        """
        data = self._begin_fit(X, Y, sample_weight)
        self._check_validation(eval_set)
        groups = read_groups(groups, X, len(data.Y))
        if self.method == "fixed":
            self.thresholds_ = check_thresholds(self._fixed(), self.n_labels_)
            self.estimator_ = self._final_estimator(data)
        elif eval_set:
            X_eval, Y_eval = self._validation_pair(eval_set)
            self.estimator_ = self._final_estimator(data)
            found = self._proba(self._input_form.check(X_eval, type(self).__name__))
            self.thresholds_ = self._choose(data, FitData(found, Y_eval, None))
        elif self.cv == "prefit":
            self.estimator_ = self._final_estimator(data)
            found = self._proba(data.X)
            self.thresholds_ = self._choose(data, data._replace(X=found))
        else:
            assert self.cv is not None
            seed = self.random_state
            folds = make_folds(self.cv, X, Y, groups, data=data, random_state=seed)
            _, found = cross_fit(self.estimator, data, folds, proba_by, n_jobs=1)
            self.thresholds_ = self._choose(data, data._replace(X=found))
            self.estimator_ = self._final_estimator(data)
        return self

    def _begin_fit(self, X: Any, Y: Any, sample_weight: Any = None) -> FitData:
        if self.cv == "prefit":
            self._check_params()
            return self._begin_unchecked(X, Y, sample_weight)
        return super()._begin_fit(X, Y, sample_weight)

    def _learn_X(self, X: Any) -> Any:
        if self.cv != "prefit" or not isinstance(self.estimator, MultiLabelEstimator):
            return super()._learn_X(X)
        check_is_fitted(self.estimator)
        self._input_form = self.estimator._input_form
        return self._input_form.check(X, type(self).__name__)

    def _trained_on(self, data: FitData) -> Self:
        other = copy.copy(self)  # with the thresholds
        other.estimator_ = trained_on(self.estimator_, data)
        return other

    def _predictors(self) -> Sequence[Any]:
        return [self.estimator_]

    def _proba(self, X: Any) -> Floats:
        return proba_by(self.estimator_, X, self.n_labels_)

    def _labels(self, X: Any) -> NDArray[np.int64]:
        return apply_thresholds(self._proba(X), self.thresholds_)

    def _check_params(self) -> None:
        super()._check_params()
        if not callable(self.measure) and not isinstance(self.measure, LabelCosts):
            check_metric(self.measure)

    def _check_validation(self, eval_set: EvalSet | None) -> None:
        if self.cv == "prefit" and eval_set is not None:
            raise ValueError(
                "With cv='prefit' the X and Y of fit are the validation data: give no eval_set."
            )
        if self.cv is None and eval_set is None and self.method != "fixed":
            raise ValueError(
                f"method={self.method!r} chooses thresholds on validation data, but cv is None "
                "and there is no eval_set. Give one of them, or take method='fixed'."
            )

    def _validation_pair(self, eval_set: EvalSet) -> tuple[Any, Labels]:
        X, Y = checked_pairs(eval_set)[-1]
        return X, check_labels_as_in_fit(self._output_form, X, Y, "eval_set")

    def _final_estimator(self, data: FitData) -> Any:
        if self.cv == "prefit":
            check_is_fitted(self.estimator)
            return self.estimator
        return fit_on(clone(self.estimator), data)

    def _fixed(self) -> ArrayLike:
        """Return the thresholds as given; of each label, if they are given by name."""
        if not isinstance(self.threshold, Mapping):
            return self.threshold
        names = self.label_names_.tolist()
        for name in self.threshold:
            if name not in names:
                raise ValueError(f"threshold: there is no label {name!r}.")
        return [self.threshold.get(name, 0.5) for name in names]

    def _metric(self) -> MetricLike:
        if isinstance(self.measure, LabelCosts):
            return self.measure.named(self.label_names_.tolist())
        return self.measure

    def _choose(self, train: FitData, valid: FitData) -> Floats:
        """Choose on validation data, whose X are probabilities; densities are those of training."""
        if self.method == "per_label":
            return thresholds_for(rows_that_count(valid), self._metric(), self.min_positive)
        if self.method == "per_label_pcut":
            frequencies = label_frequency(train.Y, train.sample_weight, empty=0)
            return per_label_pcut(valid.X, frequencies, sample_weight=valid.row_weight)
        if self.method == "pcut":
            threshold = pcut(valid.X, _density(train), sample_weight=valid.row_weight)
        else:
            threshold = threshold_for(rows_that_count(valid), self._metric())
        return np.full(self.n_labels_, threshold)


def _density(data: FitData) -> float:
    """Share of ones among the known entries."""
    return float(label_frequency(data.Y.reshape(-1, 1), data.entry_weight.ravel(), empty=0)[0])
