"""``LogisticLabels``: a logistic regression for each label, all trained together."""

import copy
import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from xdcc.base.contributions import Contributions
from xdcc.base.domains import Choice, Either, Number, OneOrPerLabel, Switch, Verbosity
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, OutOfFold, ShouldEnd, stratified_folds
from xdcc.base.importance import LabelImportances
from xdcc.base.input_form import InputForm, UnknownCategories
from xdcc.base.package import PACKAGE
from xdcc.base.side_by_side import n_at_once, side_by_side
from xdcc.base.state_checks import require
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import Names, Shape
from xdcc.base.threads import n_threads
from xdcc.base.workers import largest
from xdcc.linear.columns import Columns
from xdcc.linear.design import Design
from xdcc.linear.logistic import Floats, Penalty
from xdcc.linear.many_labels import (
    TOL,
    TOL_OF_FOLDS,
    are_many,
    at_frequencies,
    sampled_labels,
    strengths_of_all,
)
from xdcc.linear.memory import MemoryNeed, count_columns
from xdcc.linear.pace import Pace
from xdcc.linear.path import FoldModels, FoldPath, choose_strength, label_models_at, take_labels
from xdcc.prediction.builder import LayoutBuilder
from xdcc.prediction.layout import LinearPart

_TOL = 1e-11
_TOL_OF_FOLDS = 1e-6
"""Tolerances of the final models and of those of the folds."""

_FIRST_OF_TEXT = 1
_FIRST = -4
"""Where the search for C starts: at 3.2 for text, at 0.01 otherwise (``path.py``)."""

_STEPS, _FINAL = 4, 2
"""Steps of the path of penalties, and trainings on all rows, as a rule: for an estimate of time."""

_SINGLE: Any = np.float32


@stored
@declares_parameters
class LogisticLabels(LabelImportances, MultiLabelEstimator):
    """L2-penalised logistic regressions of all labels, trained in one batch.

    The regressions share the products of X with their coefficients, which is most of the work. The
    strength of the penalty is chosen by out-of-fold log-loss, and features are scaled by a rule
    from the data, so X needs no preparation. A sparse X stays sparse.

    Parameters
    ----------
    C : float, array-like of shape (n_labels,) or "auto", default="auto"
        Inverse strength of the penalty, as in scikit-learn; an array has one for each label.
        ``"auto"`` chooses it for each label from a grid with factor sqrt(10): the best for all
        labels together, or one of its two neighbours. Of at least 200 labels with a million
        coefficients, a sample of 64 chooses; the others take its median.
    text_like : bool or "auto", default="auto"
        Whether X holds counts of words or the like. Such columns are multiplied by their inverse
        document frequencies, and rows are divided by their lengths. Other columns are divided by
        their standard deviations. ``"auto"`` means text if X has at least 50 features, no
        categories, no negative values and more than 70 % zeros.
    cv : int, default=5
        Number of folds for the choice of `C`.
    soft_labels : bool, default=False
        Whether Y may hold probabilities: a label y is a positive of weight y and a negative of
        weight 1 - y.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None is the seed 0.
    {n_jobs}
    {unknown_categories}
    verbose : int, default=0
        Whether to show the progress: how many models are trained, and at which C.

    Attributes
    ----------
    coef_ : float64 array of shape (n_labels, n_columns)
        Coefficients in the units of X. A number has one column, a category one for each value.
        The last columns mark missing values, for features that had any in `fit`.
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
    The log-odds of a row x are ``coef_ @ x + intercept_``. For text they are
    ``coef_ @ x / length + intercept_``, where length is that of x after the multiplication by
    the inverse document frequencies log((1 + n) / (1 + d)) + 1, for a column that is not zero in d
    of n rows. The intercept is not penalised.

    A missing number (NaN in X) is replaced by the mean of the feature. A missing or new category
    counts as no category. What a sparse X does not store is 0. Unknown labels (NaN in Y) are
    ignored. A label that is the same in all n rows has no coefficients; the probability of its
    other value is 1 / (n + 2).

    The gradients of the objectives vanish up to rounding. With at least 200 labels and a million
    coefficients the training stops earlier, where a further Newton step would lower the log-loss
    of a label by less than 1e-8.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, random_state=0)
    >>> model = xdcc.LogisticLabels().fit(data.X, data.Y)
    >>> model.predict(data.X[:2])
    array([[0, 1, 1],
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
            "soft_labels": Switch(),
            "verbose": Verbosity(),
        }
    )
    _takes_categories = True
    _takes_entry_weights = True

    C: float | ArrayLike | Literal["auto"] = "auto"
    text_like: bool | Literal["auto"] = "auto"
    cv: int = 5
    soft_labels: bool = False
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    unknown_categories: UnknownCategories = "separate"
    verbose: int = 0

    _columns: Columns = learned()
    C_: Annotated[Floats, Shape("n_labels_")] = learned()
    coef_: Annotated[Floats, Shape("n_labels_", "_columns.scale")] = learned()
    coef_names_: Annotated[NDArray[np.object_], Names("_columns.scale")] = learned()
    intercept_: Annotated[Floats, Shape("n_labels_")] = learned()
    text_like_: bool = learned()

    def _check_state(self) -> None:
        super()._check_state()
        numbers = np.zeros(self.n_features_in_, dtype=np.int64)
        for position, categories in getattr(self, "categories_", {}).items():
            numbers[position] = len(categories)
        require(np.array_equal(self._columns.n_categories, numbers), "n_categories")

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Choose the strength of the penalty and train the models.

        {takes_data}

        {returns_self}

        Raises
        ------
        ValueError
            If a parameter is outside its domain, X or Y is not as described, or there are fewer
            rows than folds.
        MemoryError
            If the training would need more memory than there is; the message has both numbers.

        Warns
        -----
        ConvergenceWarning
            If a label's model did not converge; the message names it.
        UserWarning
            If the training may take more than five minutes, by the time of its first models, or
            more than 4 GiB; the message says what takes less.
        """
        data = self._begin_fit(X, Y, sample_weight)
        need = self._memory(data, self.cv if isinstance(self.C, str) else 0)
        threads = need.threads(n_threads(self.n_jobs))
        if data is not X:
            need.warn(threads)
        with side_by_side(threads):
            rows, design = self._learn_columns(data)
            with closing(self._pace(rows, warns=data is not X)) as pace:
                self._keep(self._train(rows, pace), design)
        return self

    def out_of_fold(
        self, X: Any, Y: Any, folds: NDArray[np.intp], sample_weight: Any = None
    ) -> OutOfFold:
        """Train a model without each fold, at the strength of the least out-of-fold log-loss.

        Parameters
        ----------
        {X}
        {Y}
        folds : int array of shape (n_samples,)
            Fold of each row, from 0; -1 for rows that are in all training parts, and in no fold.
        {sample_weight}

        Returns
        -------
        OutOfFold
            Margins and fitted estimators. The estimator itself stays as it is.

        Raises
        ------
        ValueError
            As in `fit`, or if there is not a fold for each row.
        """
        data = clone(self)._begin_fit(X, Y, sample_weight)
        return self._out_of_fold(data, Folds.of(folds, len(data.Y)))

    def _fit_with_seeds(self, data: FitData, seeds: Sequence[int]) -> list[Self]:
        return [clone(self)._fit_checked(data)]

    @classmethod
    def _joined(cls, models: list[Self]) -> list[Self]:
        return [mean_model(models)]

    def _settled_clone(self) -> Self:
        return clone(self).set_params(C=self.C_)

    def _out_of_fold(
        self, data: FitData, folds: Folds, *, should_end: ShouldEnd | None = None
    ) -> OutOfFold:
        """Train the models of all folds on checked data."""
        model = clone(self)
        model._begin_fit(data, data.Y)
        need = self._memory(data, folds.n_folds, keeps_folds=True)
        threads = need.threads(n_threads(self.n_jobs))
        with side_by_side(threads):
            rows, design = model._learn_columns(data)
            with closing(model._pace(rows, warns=False)) as pace:
                found = model._train_folds(rows, folds, pace, should_end)
        model.C_ = found.C
        estimators = [copy.copy(model) for _ in found.coef]
        for estimator, coef in zip(estimators, found.coef, strict=True):
            estimator._keep(coef.astype(np.float64), design)
        return OutOfFold(found.margins, estimators, clone(self).set_params(C=found.C))

    def _memory_of_folds(self, data: FitData, n_folds: int) -> float:
        """Estimate the bytes that the models of all folds take, at most."""
        return self._memory(data, n_folds, keeps_folds=True).total(n_at_once())

    def _memory(self, data: FitData, n_folds: int, *, keeps_folds: bool = False) -> MemoryNeed:
        """Estimate the memory of a training; see `MemoryNeed.of`."""
        assert data.input_form is not None
        n_columns = count_columns(data.X, _numbers_of_categories(data.input_form))
        return MemoryNeed.of(data.X, n_columns, data.Y.shape[1], n_folds, keeps_folds=keeps_folds)

    def _label_gains(self) -> NDArray[np.float64]:
        """Sum up the variances of each feature's terms in the log-odds of the training rows."""
        columns = self._columns
        used = columns.scale > 0
        one = np.zeros(len(used))
        variances = (self.coef_ * np.divide(columns.deviation, columns.scale, one, where=used)) ** 2
        gains = np.zeros((self.n_features_in_, self.n_labels_))
        np.add.at(gains, columns.features, variances.T)
        return gains.T

    def _learn_columns(self, data: FitData) -> tuple[FitData, Design | None]:
        """Learn the columns; return the transformed rows, and their rotation if they are dense."""
        n_categories = _numbers_of_categories(self._input_form)
        text_like = None if isinstance(self.text_like, str) else bool(self.text_like)
        columns = Columns.learn(data.X, n_categories, data.row_weight, text_like)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        self._columns = columns
        self.text_like_ = columns.text_like
        self.coef_names_ = columns.names(list(names), self._input_form.category_names)
        rows = columns.transform(data.X)
        if largest(sparse.issparse(rows)):  # with many rows, maybe of another worker
            rows = sparse.csr_matrix(rows)
        design = None if sparse.issparse(rows) else Design(rows)
        if design is not None:
            rows = design.transform(rows)
        return data._replace(X=rows), design

    def _pace(self, data: FitData, *, warns: bool) -> Pace:
        """Show the progress if `verbose`; maybe warn before a long training."""
        advice, n_models = "Fewer rows, columns or labels take less.", _FINAL * self.n_labels_
        if isinstance(self.C, str):
            advice = "A number as C takes less."
            n_models += _STEPS * self.cv * len(self._sample(data))
        return Pace(n_models if warns else 0, advice, verbose=bool(self.verbose))

    def _train_folds(
        self, data: FitData, folds: Folds, pace: Pace, should_end: ShouldEnd | None = None
    ) -> FoldModels:
        """Train the models of the folds, at the best or the given strengths."""
        start = self._start(data)
        if isinstance(self.C, str):
            sample = self._sample(data)
            found = self._choose(take_labels(data, sample), folds, pace, should_end)
            if len(sample) == self.n_labels_:
                return found
            C = strengths_of_all(found.C, sample, self.n_labels_)
        else:
            C = self._given_C()
        penalty = Penalty(1.0, 0.0, self._tolerances(data)[0])
        path = FoldPath(_in_single(data), folds, penalty, should_end, pace, start)
        if isinstance(self.C, str):
            path.coef[:, :, sample] = found.coef
        return path.at(C)

    def _choose(
        self, data: FitData, folds: Folds, pace: Pace, should_end: ShouldEnd | None = None
    ) -> FoldModels:
        """Train models of the folds along the path of penalties, for the labels of `data`."""
        penalty, start = Penalty(1.0, 0.0, _TOL_OF_FOLDS), self._start(data)
        path = FoldPath(_in_single(data), folds, penalty, should_end, pace, start)
        return choose_strength(path, _FIRST_OF_TEXT if self.text_like_ else _FIRST)

    def _has_many(self, data: FitData) -> bool:
        return are_many(self.n_labels_, data.X.shape[1])

    def _tolerances(self, data: FitData) -> tuple[float, float]:
        """Return the tolerances of models in single precision, and of the final ones."""
        return (TOL_OF_FOLDS, TOL) if self._has_many(data) else (_TOL_OF_FOLDS, _TOL)

    def _sample(self, data: FitData) -> NDArray[np.intp]:
        """Select the labels that choose the strength: all, or a sample of many."""
        return sampled_labels(data) if self._has_many(data) else np.arange(self.n_labels_)

    def _start(self, data: FitData) -> Any:
        """Make the models at which the training begins, (n_columns + 2, n_labels)."""
        if self._has_many(data):
            return at_frequencies(data)
        return np.zeros((data.X.shape[1] + 2, data.Y.shape[1]), dtype=_SINGLE)

    def _given_C(self) -> Floats:
        """Return the parameter `C` as one number per label."""
        given = np.asarray(self.C, dtype=np.float64)
        if given.ndim and len(given) != self.n_labels_:
            raise ValueError(
                f"C has {len(given)} entries; it must be a number or have one for each of the "
                f"{self.n_labels_} labels."
            )
        return np.full(self.n_labels_, given)

    def _train(self, data: FitData, pace: Pace) -> Floats:
        """Choose the strengths, and train the models on all rows, first in single precision."""
        start = self._start(data)
        if isinstance(self.C, str):
            sample = self._sample(data)
            part = take_labels(data, sample)
            folds = Folds(stratified_folds(part.Y, self.cv, self.random_state))
            found = self._choose(part, folds, pace)
            self.C_ = strengths_of_all(found.C, sample, self.n_labels_)
            start[:, sample] = found.coef.mean(axis=0)
        else:
            self.C_ = self._given_C()
        pace.describe("all rows")
        of_single, of_double = self._tolerances(data)
        rough = Penalty(1.0, 0.0, of_single)
        near = label_models_at(self.C_, _in_single(data), rough, start, pace)
        exact = replace(rough, tol=of_double)
        last = label_models_at(self.C_, data, exact, near.coef.astype(np.float64), pace)
        if not last.converged.all():
            late = ", ".join(repr(name) for name in self.label_names_[~last.converged])
            warnings.warn(
                f"The logistic regression did not converge for label {late}.",
                ConvergenceWarning,
                skip_file_prefixes=(PACKAGE,),
            )
        return last.coef

    def _keep(self, coef: Floats, design: Design | None) -> None:
        """Set the coefficients and intercepts, in the units of X."""
        original = coef if design is None else design.original(coef)
        self.coef_ = np.ascontiguousarray(original[:-2].T * self._columns.scale)
        self.intercept_ = np.array(original[-1])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log-odds of every label.

        {takes_X}

        Returns
        -------
        float64 array of shape (n_samples, n_labels), or (n_samples,) if Y had one dimension
            Positive where a label is more likely present than absent.

        {raises_in_predict}
        """
        margins = self._margins(self._read_X(X))
        return margins if self.classes_.ndim == 2 else margins[:, 0]

    def _margins(self, X: Features) -> Floats:
        """Compute log-odds of checked features, `(n_samples, n_labels)`."""
        complete = self._columns.complete(X)
        margins = np.asarray(complete @ self.coef_.T)
        margins /= self._columns.row_lengths(complete)[:, None]
        margins += self.intercept_
        return margins

    def _add_to(self, builder: LayoutBuilder) -> None:
        columns = self._columns
        first = columns._first_columns()
        numbers = np.cumsum(columns.has_indicator) - 1 + first[-1]
        builder.add_linear(
            LinearPart(
                column=first[:-1].astype(np.int32),
                n_values=columns.n_categories.astype(np.int32),
                indicator=np.where(columns.has_indicator, numbers, -1).astype(np.int32),
                fill=np.ascontiguousarray(columns.fill),
                weight=np.ascontiguousarray(self.coef_.T).ravel(),
                square=columns.scale**2,
                intercept=self.intercept_,
                text_like=columns.text_like,
            )
        )

    def _contributions(self, X: Features) -> Contributions:
        """Compare the columns with their means in training; the length of a text is given."""
        columns = self._columns
        if columns.mean is None:
            raise TypeError(
                "This LogisticLabels cannot be explained: it is from a model file of xdcc 0.2, "
                "which lacks the means of the columns. Fit it again."
            )
        used = columns.scale > 0
        weights = np.divide(self.coef_, columns.scale, np.zeros_like(self.coef_), where=used)
        transformed = columns.transform(X)
        if isinstance(transformed, sparse.csr_matrix):
            transformed = transformed.toarray()
        centred = transformed - columns.mean
        of_features = sparse.csr_array(
            (np.ones(len(used)), (columns.features, np.arange(len(used)))),
            shape=(self.n_features_in_, len(used)),
        )
        values = np.empty((len(centred), self.n_labels_, self.n_features_in_))
        for label, of_label in enumerate(weights):
            values[:, label] = (of_features @ (centred * of_label).T).T
        bias = self.intercept_ + weights @ columns.mean
        return Contributions(values, np.tile(bias, (len(values), 1)))

    def _proba(self, X: Features) -> Floats:
        return expit(self._margins(X))


def mean_model(models: Sequence[LogisticLabels]) -> LogisticLabels:
    """Make the model whose log-odds are the means of those of some models.

    Parameters
    ----------
    models : sequence of LogisticLabels
        Fitted; they scale X alike, as those of :meth:`LogisticLabels.out_of_fold` do.

    Returns
    -------
    LogisticLabels
        With the means of their coefficients and intercepts.
    """
    mean = copy.copy(models[0])
    mean.coef_ = np.mean([model.coef_ for model in models], axis=0)
    mean.intercept_ = np.mean([model.intercept_ for model in models], axis=0)
    return mean


def _numbers_of_categories(form: InputForm) -> NDArray[np.intp]:
    """Count the categories of each feature, 0 for a number."""
    numbers = np.zeros(form.n_features, dtype=np.intp)
    for feature, values in (form.categories or {}).items():
        numbers[feature] = len(values)
    return numbers


def _in_single(data: FitData) -> FitData:
    """Convert the features to single precision."""
    return data._replace(X=data.X.astype(_SINGLE))
