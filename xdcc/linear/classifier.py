"""``LogisticLabels``: a logistic regression for each label, all trained together."""

import copy
import warnings
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from xdcc.base.domains import Choice, Either, Number, OneOrPerLabel, Seed, Switch, Threads
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import PACKAGE, FitData
from xdcc.base.folds import OutOfFold, stratified_folds
from xdcc.linear.columns import Columns
from xdcc.linear.design import Design
from xdcc.linear.logistic import Floats, Matrix, Penalty, Run, solver_threads
from xdcc.linear.path import FoldModels, FoldPath, LabelData, choose_strength

_TOL = 1e-9
_TOL_OF_FOLDS = 1e-6
"""Tolerances of the final models, and of those of the folds."""

_FIRST_OF_TEXT = 1
_FIRST = -4
"""The choice of C begins at 3.2 and at 0.01 (``path.py``)."""

_SINGLE: Any = np.float32


class _Rows(NamedTuple):
    """Training rows as the solver takes them, and how they were made."""

    columns: Columns
    design: Design | None
    X: Matrix


@declares_parameters
class LogisticLabels(MultiLabelEstimator):
    """L2-penalised logistic regressions of all labels, trained in one batch.

    They share what is expensive: products of X with the coefficients of all labels. The penalty
    is chosen by out-of-fold log-loss, features are scaled by a rule from the data, so there is
    nothing to prepare. X may be sparse and stays so.

    Parameters
    ----------
    C : float, array-like of shape (n_labels,) or "auto", default="auto"
        Inverse strength of the penalty, as in scikit-learn; of each label's, if there are several.
        ``"auto"`` chooses it by out-of-fold log-loss from a grid of factor sqrt(10): the best for
        all labels together, or for a label that differs enough, one of its neighbours.
    text_like : bool or "auto", default="auto"
        Whether X holds something like counts of words. Such columns are multiplied by their inverse
        document frequency, and rows are divided by their lengths; other columns are divided by
        their standard deviations. ``"auto"`` takes X for text if it has at least 50 features, all
        of them numbers that are not negative, and more than 70 % of its entries are zero.
    cv : int, default=5
        Number of folds for the choice of `C`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None is the seed 0.
    {n_jobs}

    Attributes
    ----------
    coef_ : float64 array of shape (n_labels, n_columns)
        Coefficients, in the units of X. A feature has one column, a category one for each value,
        and features with missing values have one more at the end.
    intercept_ : float64 array of shape (n_labels,)
        Intercepts.
    coef_names_ : array of str of shape (n_columns,)
        Names of the columns of `coef_`: "age", "colour=red", "age is missing".
    C_ : float64 array of shape (n_labels,)
        Inverse strength of each label's penalty.
    text_like_ : bool
        Whether X was taken for text.
    {fitted}
    {categories}

    Notes
    -----
    The log-odds of a row x are ``coef_ @ x + intercept_``; of a text
    ``coef_ @ x / length + intercept_``, with the length of x after its multiplication by the
    inverse document frequencies, log((1 + n) / (1 + d)) + 1 for a column that is not zero in d of n
    rows. The intercept is not penalised.

    A missing number (NaN in X) counts as the feature's mean, a missing or new category as none of
    the known ones; if values were missing in `fit`, a column of its own says where. What a sparse
    X does not store is 0. Unknown labels (NaN in Y) count for nothing. A label that is the same in
    all n rows has no coefficients; its other value has the probability 1 / (n + 2).

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, random_state=0)
    >>> model = xdcc.LogisticLabels().fit(data.X, data.Y)
    >>> model.predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 1]])
    >>> margins = data.X @ model.coef_.T + model.intercept_
    >>> np.allclose(margins, model.decision_function(data.X), atol=1e-4)
    True
    """

    _domains = MappingProxyType(
        {
            "C": Either(
                Choice(("auto",)),
                OneOrPerLabel(Number(low=0, high=np.inf, low_open=True, high_open=True)),
            ),
            "text_like": Either(Choice(("auto",)), Switch()),
            "cv": Number(low=2, whole=True),
            "random_state": Seed(),
            "n_jobs": Threads(),
        }
    )
    _takes_categories = True

    C: float | ArrayLike | Literal["auto"] = "auto"
    text_like: bool | Literal["auto"] = "auto"
    cv: int = 5
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Choose the penalty, and train the models.

        Parameters
        ----------
        {X}
        {Y}
        {sample_weight}

        {returns_self}

        Raises
        ------
        ValueError
            If a parameter is outside its domain, X or Y is not as described, or there are fewer
            rows than folds.

        Warns
        -----
        ConvergenceWarning
            If a label's model did not converge; the message names it.
        """
        data = self._begin_fit(X, Y, sample_weight)
        with solver_threads(self.n_jobs) as run:
            rows = self._rows_of(data)
            labels = LabelData(rows.X, data.Y, data.sample_weight)
            if isinstance(self.C, str):
                folds = stratified_folds(data.Y, self.cv, self.random_state)
                found = self._train_folds(labels, folds, run)
                self.C_, start = found.C, found.coef.mean(axis=0)
            else:
                self.C_ = self._given_C()
                start = np.zeros((rows.X.shape[1] + 2, self.n_labels_))
            self._keep(rows, self._train(labels, start, run))
        return self

    def out_of_fold(
        self, X: Any, Y: Any, folds: NDArray[np.intp], sample_weight: Any = None
    ) -> OutOfFold:
        """Train models without each fold, at the penalty that is best for all folds together.

        Parameters
        ----------
        {X}
        {Y}
        folds : int array of shape (n_samples,)
            Fold of each row, from 0.
        {sample_weight}

        Returns
        -------
        OutOfFold
            Margins and fitted estimators. The estimator itself stays as it is.

        Raises
        ------
        ValueError
            As `fit`.
        """
        return self._out_of_fold(clone(self)._begin_fit(X, Y, sample_weight), folds)

    def _out_of_fold(self, data: FitData, folds: NDArray[np.intp]) -> OutOfFold:
        """Train the models of all folds on checked data."""
        model = clone(self)
        model._begin_fit(data, data.Y)
        with solver_threads(self.n_jobs) as run:
            rows = model._rows_of(data)
            labels = LabelData(rows.X, data.Y, data.sample_weight)
            found = model._train_folds(labels, folds, run)
        model.C_ = found.C
        estimators = [copy.copy(model) for _ in found.coef]
        for estimator, coef in zip(estimators, found.coef, strict=True):
            estimator._keep(rows, coef.astype(np.float64))
        return OutOfFold(found.margins, estimators, clone(self).set_params(C=found.C))

    def _rows_of(self, data: FitData) -> "_Rows":
        """Learn the columns, and make those of the training rows."""
        n_categories = np.zeros(self.n_features_in_, dtype=np.intp)
        for feature, values in getattr(self, "categories_", {}).items():
            n_categories[feature] = len(values)
        text_like = None if self.text_like == "auto" else bool(self.text_like)
        columns = Columns.learn(data.X, n_categories, data.sample_weight, text_like)
        made = columns.transform(data.X)
        if sparse.issparse(made):
            return _Rows(columns, None, made)
        design = Design(made)
        return _Rows(columns, design, design.transform(made))

    def _train_folds(self, labels: LabelData, folds: NDArray[np.intp], run: Run) -> FoldModels:
        """Train the models of the folds, at the best penalty or at the one that is given."""
        path = FoldPath(labels.astype(_SINGLE), folds, Penalty(1.0, 0.0, _TOL_OF_FOLDS), run)
        if isinstance(self.C, str):
            return choose_strength(path, _FIRST_OF_TEXT if sparse.issparse(labels.X) else _FIRST)
        return path.at(self._given_C())

    def _given_C(self) -> Floats:
        """Return the parameter `C` as one number per label."""
        given = np.asarray(self.C, dtype=np.float64)
        if given.ndim and len(given) != self.n_labels_:
            raise ValueError(
                f"C has {len(given)} entries; it has to be a number or have one for each of the "
                f"{self.n_labels_} labels."
            )
        return np.full(self.n_labels_, given)

    def _train(self, labels: LabelData, start: Floats, run: Run) -> Floats:
        """Train the models on all rows, nearly to the end in single precision."""
        single, rough = labels.astype(_SINGLE), Penalty(1.0, 0.0, _TOL_OF_FOLDS)
        begin = single.solve_each(self.C_, rough, start.astype(_SINGLE), run).coef
        exact = replace(rough, tol=_TOL)
        found = labels.solve_each(self.C_, exact, begin.astype(np.float64), run)
        if not found.converged.all():
            late = ", ".join(repr(name) for name in self.label_names_[~found.converged])
            warnings.warn(
                f"The logistic regression did not converge for label {late}.",
                ConvergenceWarning,
                skip_file_prefixes=(PACKAGE,),
            )
        return found.coef

    def _keep(self, rows: "_Rows", coef: Floats) -> None:
        """Set what is learned."""
        original = coef if rows.design is None else rows.design.original(coef)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{number}" for number in range(self.n_features_in_)]
        self._columns = rows.columns
        self.text_like_ = rows.columns.text_like
        self.coef_ = original[:-2].T * rows.columns.scale
        self.intercept_ = original[-1]
        self.coef_names_ = rows.columns.names(list(names), getattr(self, "categories_", {}))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log-odds of every label.

        {takes_X}

        Returns
        -------
        float64 array of shape (n_samples, n_labels), or (n_samples,) if Y had one dimension
            Positive where a label is more likely present than absent.

        {raises_in_predict}
        """
        margins = self._margins(self._check_X(X))
        return margins if self.classes_.ndim == 2 else margins[:, 0]

    def _margins(self, X: Features) -> Floats:
        """Compute log-odds of checked features, `(n_samples, n_labels)`."""
        complete = self._columns.complete(X)
        margins = np.asarray(complete @ self.coef_.T)
        margins /= self._columns.row_lengths(complete)[:, None]
        margins += self.intercept_
        return margins

    def _proba(self, X: Features) -> Floats:
        return expit(self._margins(X))
