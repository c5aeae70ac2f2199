"""``Teacher``: a fitted classifier, as distillation sees it.

A teacher of this package labels checked rows. One of another package gets rows in the form of the X
that it was trained on.
"""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from xdcc.base.domains import Classifier
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.features import Features, learn_features
from xdcc.base.fit_data import FitData
from xdcc.base.frames import as_pandas
from xdcc.base.input_form import InputForm
from xdcc.base.labels import check_labels, check_labels_as_in_fit
from xdcc.base.weights import check_weight
from xdcc.decision import ThresholdClassifier
from xdcc.decision.calibration import ConstantLabels
from xdcc.decision.cuts import Floats, check_proba
from xdcc.decision.deciders import RuleClassifier
from xdcc.decision.out_of_fold import proba_by, trained_on
from xdcc.decision.rule import Rule
from xdcc.decision.threshold_rules import LabelWise, ThresholdPerLabel

_WITH_PROBA = Classifier()


class Teacher:
    """A fitted classifier whose probabilities a booster is to learn.

    Parameters
    ----------
    model : classifier
        A fitted one with `predict_proba`.

    Raises
    ------
    TypeError
        If it has no `predict_proba`.
    NotFittedError
        If it is not fitted.
    """

    def __init__(self, model: Any) -> None:
        if not _WITH_PROBA.accepts(model):
            raise TypeError(
                "The teacher must be a fitted classifier with predict_proba, not "
                f"{type(model).__module__}.{type(model).__name__}."
            )
        check_is_fitted(model)
        self.model = model
        is_ours = isinstance(model, MultiLabelEstimator) and not model._input_form.is_open
        self.form: InputForm | None = model._input_form if is_ours else None
        self._frame: pd.DataFrame | None = None
        self._categories: dict[int, NDArray[Any]] = {}

    def data(self, X: Any, Y: Any, sample_weight: Any) -> FitData:
        """Check the rows to learn from, and describe their form as the teacher knows it.

        Labels are NaN where they are unknown, everywhere if Y is None. A ValueError says what is
        not as described, or not as in the teacher's `fit`.
        """
        X, name = as_pandas(X), type(self.model).__name__
        if self.form is None:
            form, features = learn_features(X, name, takes_categories=True, sparse_zeros="missing")
            self._frame = X.iloc[:0] if isinstance(X, pd.DataFrame) else None
            self._categories = form.categories or {}
        else:
            form, features = self.form, self.form.check(X, name)
        if form.is_sparse is None:
            form = replace(form, sparse_zeros="missing", is_sparse=sparse.issparse(features))
        n_rows = features.shape[0]
        if isinstance(self.model, MultiLabelEstimator):
            output_form = self.model._output_form
            labels = np.full((n_rows, output_form.n_labels), np.nan, np.float32)
            if Y is not None:
                labels = check_labels_as_in_fit(output_form, features, Y)
        elif Y is None:
            raise ValueError(
                f"Y is missing: {name} does not know the names and the form of its labels."
            )
        else:
            checked = check_labels(Y, name)
            labels, output_form = checked.Y, checked.output_form
            check_consistent_length(features, labels)
        weight = check_weight(sample_weight, n_rows)
        return FitData(features, labels, weight, form, output_form)

    def proba(self, X: Features, n_labels: int) -> Floats:
        """Predict probabilities for checked features, `(n_samples, n_labels)`."""
        if self.form is not None:
            return check_proba(self.model._proba(X))
        if isinstance(self.model, MultiLabelEstimator):
            return check_proba(self.model._proba(self._as_given(X)))
        return proba_by(self.model, self._as_given(X), n_labels)

    def proba_of_training_rows(self, X: Features, n_labels: int) -> Floats:
        """Predict probabilities for the rows that it was trained on, out of fold if it has them.

        A ValueError says that there are others out of fold.
        """
        found = getattr(self.model, "oof_proba_", None)
        if found is None:
            return self.proba(X, n_labels)
        if found.shape != (X.shape[0], n_labels):
            raise ValueError(
                f"X has {X.shape[0]} rows, but the teacher was trained on {len(found)}: X must be "
                "the rows of its fit. Give others as X_unlabelled."
            )
        proba = np.array(found)
        untested = np.isnan(proba).any(axis=1)
        if untested.any():
            proba[untested] = self.proba(X[untested], n_labels)
        return proba

    def trained_on(self, data: FitData) -> "Teacher":
        """Train it once more on some of its rows; unknown labels stay unknown to it."""
        part = data.part(np.arange(len(data.Y)))
        if self.form is None:
            part = part._replace(X=self._as_given(part.X))
        other = copy.copy(self)
        other.model = trained_on(self.model, part)
        return other

    @property
    def folds(self) -> NDArray[np.intp] | None:
        """Fold that tests each training row, -1 for none; None if it has no folds."""
        return getattr(self.model, "folds_", None)

    @property
    def rule(self) -> Rule:
        """Its decision rule for probabilities; 0.5 if it has another way to decide."""
        if isinstance(self.model, RuleClassifier):
            return self.model.rule_
        if isinstance(self.model, ThresholdClassifier):
            return ThresholdPerLabel(self.model.thresholds_, 0.0)
        return LabelWise()

    def constant(self, data: FitData) -> ConstantLabels:
        """Return the labels that are the same in all rows, as far as they are known."""
        if isinstance(self.model, RuleClassifier):
            return self.model.calibration_.constant
        none = np.full(data.Y.shape[1], np.nan)
        return ConstantLabels.of(data) if data.known.any() else ConstantLabels(none, none)

    def _as_given(self, X: Features) -> Any:
        """Give checked features the form that the teacher was trained on."""
        if self._frame is None:
            return X
        columns = {}
        for position, name in enumerate(self._frame.columns):
            values = X[:, position]
            if position in self._categories:
                codes = np.where(np.isnan(values), -1, values).astype(np.int64)
                columns[name] = pd.Categorical(
                    np.array([*self._categories[position], None], dtype=object)[codes],
                    dtype=self._frame.dtypes.iloc[position],
                )
            else:
                columns[name] = values
        return pd.DataFrame(columns)
