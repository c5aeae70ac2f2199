"""``CompiledModel``: a fitted model that only predicts, from flat arrays in a kernel of its own."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.mixture import Member
from xdcc.base.categories import Categories
from xdcc.base.documentation import documented
from xdcc.base.domains import Threads, check_domain
from xdcc.base.features import check_features
from xdcc.base.threads import n_threads
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.rules import CommonThreshold, LabelWise, LeastCost, ThresholdPerLabel
from xdcc.serving._compiled_prediction import logistic
from xdcc.serving.compiled_layout import Layout, LayoutBuilder, affine
from xdcc.serving.compiled_parts import CompiledMargins, CompiledParts, InputForm

_THRESHOLDS = (LabelWise, LeastCost, CommonThreshold, ThresholdPerLabel)

_FEW_ROWS = 64
"""So many rows are predicted by one thread."""


def _compile_mixture(model: MultiLabelClassifier, categories: Categories) -> CompiledMargins:
    n_features, n_labels = model.n_features_in_, model.n_labels_

    def layout(
        n_columns: int, members: Sequence[Member], shares: Sequence[float], own: Categories
    ) -> Layout:
        builder = LayoutBuilder(n_columns, n_labels, own)
        for member, share in zip(members, shares, strict=True):
            builder.add_member(member.estimators, share, *affine(member.calibration))
        return builder.build(model.calibration_)

    members, shares = model.members_, [member.share for member in model.members_]
    levels = getattr(model, "stacked_", [])
    if not levels:
        return CompiledMargins([layout(n_features, members, shares, categories)], [], 0.0)
    layouts = [layout(n_features, [member], [1.0], categories) for member in members]
    layouts.append(layout(len(members) * n_labels, levels, [1.0], {}))
    return CompiledMargins(layouts, shares, levels[0].share)


def _compile_ensemble(
    model: Any, members: Sequence[Any], calibration: LabelCalibration | None, categories: Categories
) -> CompiledMargins:
    builder = LayoutBuilder(model.n_features_in_, model.n_labels_, categories)
    builder.add_member(members, 1.0, np.ones(model.n_labels_), np.zeros(model.n_labels_))
    return CompiledMargins([builder.build(calibration)], [], 0.0)


@documented
class CompiledModel:
    """A fitted model for services: the same predictions in microseconds.

    The model is copied into flat arrays that a kernel reads. A row of a NumPy array goes from
    there to its margins without Python.

    Parameters
    ----------
    model : MultiLabelXGBClassifier, TunedDecisionClassifierCV or MultiLabelClassifier
        A fitted estimator. Those of the last two have to consist of `MultiLabelXGBClassifier`,
        `SketchedExtraTreesClassifier` and `LogisticLabels`. It is not changed, and later changes
        to it have no effect.
    n_jobs : int or None, default=None
        Number of threads for batches, as in scikit-learn; None is all CPUs. It can be changed. 64
        rows and fewer are predicted by one thread.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    n_labels_ : int
        Number of labels.

    Raises
    ------
    TypeError
        If the model has another type, or consists of others.
    NotFittedError
        If it is not fitted.

    Notes
    -----
    Margins of boosters are added up in XGBoost's order, so they are equal bit for bit, and so are
    probabilities and mixtures of boosters only. Margins with forests or linear models differ by
    at most 1e-6. Decision rules are those of the model.

    X is checked as the model checks it. An array of float32 or float64, in any order, takes the
    fast path; it is taken column by column, without a warning if the model knows names of
    features. Objects can be pickled and used by several threads at the same time.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> compiled = CompiledModel(model)
    >>> np.array_equal(compiled.predict_proba(data.X), model.predict_proba(data.X))
    True
    """

    def __init__(self, model: Any, *, n_jobs: int | None = None) -> None:
        kinds = (MultiLabelXGBClassifier, TunedDecisionClassifierCV, MultiLabelClassifier)
        if type(model) not in kinds:
            raise TypeError(
                f"CompiledModel takes a fitted {', '.join(kind.__name__ for kind in kinds[:-1])} "
                f"or {kinds[-1].__name__}, not "
                f"{type(model).__module__}.{type(model).__name__}."
            )
        check_domain("n_jobs", n_jobs, Threads())
        is_booster = type(model) is MultiLabelXGBClassifier
        check_is_fitted(model, None if is_booster else "rule_")
        first = model if is_booster else model._predictors()[0]
        categories = getattr(first, "categories_", {})
        if is_booster:
            predictor, rule, constant = (
                _compile_ensemble(model, [model], None, categories),
                None,
                None,
            )
        else:
            rule, constant = model.rule_, model.calibration_.constant
            if type(model) is MultiLabelClassifier:
                predictor = _compile_mixture(model, categories)
            else:
                predictor = _compile_ensemble(
                    model, model.estimators_, model.calibration_, categories
                )
        self._begin(CompiledParts(InputForm.of(first), predictor, rule, constant), n_jobs)

    def _begin(self, parts: CompiledParts, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self._parts = parts
        rule = parts.rule
        self._thresholds = np.asarray(rule._thresholds()) if isinstance(rule, _THRESHOLDS) else None
        self._checker = parts.input.checker()
        is_sparse = self._checker._sparse_zeros() == "missing" and self._checker.sparse_X_
        self._takes_arrays = not is_sparse and not hasattr(self._checker, "categories_")
        self.n_features_in_: int = self._checker.n_features_in_
        self.n_labels_: int = self._checker.n_labels_

    @classmethod
    def _of_parts(cls, parts: CompiledParts, n_jobs: int | None) -> Self:
        """Make the model that a file stores."""
        model = cls.__new__(cls)
        model._begin(parts, n_jobs)
        return model

    def decision_function(self, X: Any) -> NDArray[np.floating]:
        """Log-odds of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for the model.

        Returns
        -------
        float array of shape (n_samples, n_labels), or (n_samples,) if Y had one dimension
            In single precision for a `MultiLabelXGBClassifier`.

        Raises
        ------
        ValueError
            If X is not as described, or has other features than in `fit`.
        """
        margins = self._margins(X)
        return margins if self._checker.classes_.ndim == 2 else margins[:, 0]

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Probability of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for the model.

        Returns
        -------
        float array of shape (n_samples, n_labels) or (n_samples, n_classes)
            As from the model.

        Raises
        ------
        ValueError
            If X is not as described, or has other features than in `fit`.
        """
        return self._checker._proba_in_form_of_y(self._proba(self._margins(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, by the decision rule of the model.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for the model.

        Returns
        -------
        int array of shape (n_samples, n_labels), or array of shape (n_samples,)
            Zeros and ones; classes, if Y had one dimension.

        Raises
        ------
        ValueError
            If X is not as described, or has other features than in `fit`.
        """
        margins = self._margins(X)
        rule, constant = self._parts.rule, self._parts.constant
        if rule is None or constant is None:
            labels = (self._proba(margins) >= 0.5).astype(np.int64)
        elif self._thresholds is not None:
            labels = constant.in_labels((expit(margins) >= self._thresholds).astype(np.int64))
        else:
            labels = constant.in_labels(
                rule.decide(margins.astype(np.float64, copy=False)).astype(np.int64)
            )
        return self._checker._labels_in_form_of_y(labels)

    def _margins(self, X: Any) -> NDArray[np.floating]:
        if self._takes_arrays and type(X) is np.ndarray:
            found = self._parts.predictor.margins(X, self._threads(X))
            if found is not None:
                return found
        checked = check_features(self._checker, X)
        found = self._parts.predictor.margins(checked, self._threads(checked))
        assert found is not None
        return found

    def _threads(self, X: Any) -> int:
        return n_threads(self.n_jobs) if X.ndim == 2 and X.shape[0] > _FEW_ROWS else 1

    def _proba(self, margins: NDArray[np.floating]) -> NDArray[np.floating]:
        constant = self._parts.constant
        if constant is not None:
            return constant.in_proba(expit(margins))
        proba = margins.copy()
        logistic(proba)
        return proba
