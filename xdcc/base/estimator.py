"""``MultiLabelEstimator``: what every multi-label classifier of the package has in common.

What does not depend on the form of Y is in its base, ``CheckedEstimator``.

A subclass declares its parameters as fields (:func:`declares_parameters` makes the constructor of
them) and their domains in `_domains`, and writes three methods: ``fit``, which begins with
:meth:`~MultiLabelEstimator._begin_fit`, and on checked features ``_proba`` (and ``_labels``, unless
a label is predicted where its probability is at least 0.5). Everything else happens here: checks,
the form of predictions, ``score``, tags, documentation of what fit sets.

Estimators that use other estimators check the data once and use the internal form of these:
:meth:`~MultiLabelEstimator._fit_checked` and :meth:`~MultiLabelEstimator._margins`. Margins
(log-odds) are what passes between models; probabilities appear in public methods.

Predictions have the form of the Y in ``fit`` (``labels.py``). For a matrix they are
`(n_samples, n_labels)`. For one dimension they follow scikit-learn's binary classifiers to the
letter: ``predict`` returns `(n_samples,)` classes, ``predict_proba`` `(n_samples, 2)`. So the
estimators work inside scikit-learn's meta-estimators, which bring one target at a time.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from xdcc.base.checks import (
    check_fit_data,
    check_fit_weight,
    settle_absent,
    warn_of_mistakes,
)
from xdcc.base.contributions import Contributions
from xdcc.base.documentation import documented
from xdcc.base.domains import Choice, Domain, Seed, Threads, check_domain
from xdcc.base.features import Features, ignore_identifiers, learn_features
from xdcc.base.fit_data import FitData, unknown_labels
from xdcc.base.folds import Folds, OutOfFold, ShouldEnd
from xdcc.base.input_form import (
    UNKNOWN_CATEGORIES,
    Categories,
    InputForm,
    SparseZeros,
    UnknownCategories,
)
from xdcc.base.kept import forget, kept
from xdcc.base.label_rows import matching_share
from xdcc.base.labels import Classes, Labels, check_labels, check_labels_as_in_fit
from xdcc.base.learned import Learned
from xdcc.base.margins import margins_of
from xdcc.base.output import Output, in_output_form, set_output
from xdcc.base.output_form import LabelForm
from xdcc.base.process import whole_or_nothing
from xdcc.base.side_by_side import run_all
from xdcc.base.stored import learned
from xdcc.base.unknown_categories import settle_unknown_categories
from xdcc.base.weights import check_weight


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field, learned))
def declares_parameters[T](cls: type[T]) -> type[T]:
    """Make a constructor that stores its arguments, one for each field of a class, as a decorator.

    Fields are the attributes that are declared with a type and a default in the class or in a
    class above it that has this decorator; what ``fit`` learns is declared by
    :func:`~xdcc.base.stored.learned`. The constructor takes keyword arguments only, unless a field
    says ``field(kw_only=False)``; scikit-learn reads the parameters from its signature.

    Parameters
    ----------
    cls : type
        A subclass of scikit-learn's `BaseEstimator`.

    Returns
    -------
    type
        The class.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> @declares_parameters
    ... class Trees(BaseEstimator):
    ...     n_estimators: int = 100
    >>> @declares_parameters
    ... class Forest(Trees):
    ...     bootstrap: bool = True
    >>> Forest(n_estimators=10).get_params()
    {'bootstrap': True, 'n_estimators': 10}
    """
    # Estimators are equal only to themselves, and scikit-learn knows how to print them.
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


_COMMON_DOMAINS: Mapping[str, Domain] = {
    "random_state": Seed(),
    "n_jobs": Threads(),
    "unknown_categories": Choice(UNKNOWN_CATEGORIES),
}

type EvalSet = Sequence[tuple[Any, Any]]
"""Pairs of X and Y to evaluate on during training; the last pair decides."""


@documented
class CheckedEstimator(BaseEstimator):
    """Base class of all estimators: checks parameters, X and weights.

    A subclass says how Y is checked, in `_check_Y`, `_settle_unknown` and `_check_Y_of`. Docstrings
    of a subclass may name the entries of :mod:`xdcc.base.documentation`.

    Examples
    --------
    >>> class Columns(CheckedEstimator):
    ...     def fit(self, X, Y):
    ...         self._begin_fit(X, Y)
    ...         return self
    ...
    ...     def _check_Y(self, Y):
    ...         return FitData(None, np.asarray(Y, np.float32).reshape(-1, 1), None)
    >>> Columns().fit([[0, 5], [1, 6]], [2.5, 3.5]).n_features_in_
    2
    """

    _input_form: InputForm
    _output_form: Any

    n_features_in_ = Learned[int]("_input_form", "n_features")
    feature_names_in_ = Learned[NDArray[np.object_]]("_input_form", "names")
    categories_ = Learned[Categories]("_input_form", "categories")
    category_codes_ = Learned[dict[int, NDArray[np.float32]]]("_input_form", "category_codes")
    unknown_codes_ = Learned[dict[int, int]]("_input_form", "unknown_codes")
    sparse_X_ = Learned[bool]("_input_form", "is_sparse")

    _domains: ClassVar[Mapping[str, Domain]] = MappingProxyType({})
    """Values of each parameter; those of `random_state`, for example, are the same everywhere.

    Parameters of boosters are declared in `booster_parameters`.
    """

    _takes_categories: bool = False
    """Whether the estimator can learn from categorical columns."""

    _checks_numbers: ClassVar[bool] = False
    """Whether predictions themselves check that all numbers are finite or missing."""

    _takes_entry_weights: bool = False
    """Whether the estimator can learn with a weight for each label of a row."""

    _entries: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Text for the lines in braces of a subclass's docstrings; a family may add to it."""

    fit: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Fill in what the documentation shares with others, and surround ``fit``.

        It is whole or nothing, and takes no more threads than there are CPUs. Predictions have the
        form that `set_output` asks for.
        """
        super().__init_subclass__(**kwargs)
        if "fit" in vars(cls):
            cls.fit = whole_or_nothing(cls.fit)
        for name in {"predict", "predict_proba"} & vars(cls).keys():
            setattr(cls, name, in_output_form(getattr(cls, name)))
        common = {name: domain for name, domain in _COMMON_DOMAINS.items() if hasattr(cls, name)}
        cls._domains = MappingProxyType({**cls._domains, **common})
        documented(cls, cls._entries)

    def __setattr__(self, name: str, value: Any) -> None:
        """Let the next prediction check the parameters, of which this may be one."""
        super().__setattr__(name, value)
        forget(self, "check")

    def __sklearn_tags__(self) -> Tags:
        """Tags: sparse X, missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def set_output(self, *, predict: Output | None = None) -> Self:
        """Set the form of what `predict` and `predict_proba` return.

        Parameters
        ----------
        predict : {{"default", "input", "pandas", "polars", "pyarrow"}}, optional
            "default": arrays. "pandas", "polars" or "pyarrow": a DataFrame of that library with a
            column named after each label, or a Series instead of an array of one dimension.
            "input": a DataFrame of the library of X, and arrays if X is not a DataFrame. None keeps
            the present form. A pandas result has the index of X. Clones and pickles keep the
            setting, model files do not.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            If it is none of these.
        """
        set_output(self, predict)
        return self

    def _sparse_zeros(self) -> SparseZeros | None:
        """Return the meaning of entries that a sparse X does not store, see `features.py`."""
        return None

    def _unknown_categories(self) -> UnknownCategories:
        """Return what a category is that did not occur in `fit`, see `unknown_categories.py`."""
        return getattr(self, "unknown_categories", "missing")

    def _check_params(self) -> None:
        """Stop if a parameter is outside its domain."""
        for name, domain in self._domains.items():
            check_domain(name, getattr(self, name), domain)

    def _check_state(self) -> None:
        """Stop if what `fit` has set, read from a file, does not fit together."""
        self._check_params()

    def _begin_fit(self, X: Any, Y: Any, sample_weight: Any = None) -> FitData:
        """Check parameters and data, and learn from them; checked data stay as they are."""
        self._check_params()
        if not isinstance(X, FitData):
            data = settle_unknown_categories(check_fit_data(self, X, Y, sample_weight))
            self._learn_from(data)
            self._refuse_entry_weights(data)
            warn_of_mistakes(X, Y, data)
            return data
        self._learn_from(X)
        self._refuse_entry_weights(X)
        return X

    def _refuse_entry_weights(self, data: FitData) -> None:
        """Stop if entries have weights, but the estimator can learn with those of rows only."""
        if data.has_entry_weights and not self._takes_entry_weights:
            raise ValueError(
                f"sample_weight is a matrix, but {type(self).__name__} learns with weights of "
                "rows, (n_samples,). The labels of a row need the same weight, or 0 (unknown)."
            )

    def _learn_from(self, data: FitData) -> None:
        """Take the forms of X and Y."""
        assert data.input_form is not None
        self._input_form, self._output_form = data.input_form, data.output_form

    def _learn_X(self, X: Any) -> Features:
        """Check features in `fit`, and learn their form."""
        form, checked = learn_features(
            X,
            type(self).__name__,
            takes_categories=self._takes_categories,
            sparse_zeros=self._sparse_zeros(),
            unknown_categories=self._unknown_categories(),
        )
        self._input_form, checked = ignore_identifiers(form, checked)
        return checked

    def _continue_fit(self, earlier: Any, X: Any, Y: Any, sample_weight: Any = None) -> FitData:
        """Check parameters, and data as in an earlier fit, whose attributes are kept."""
        self._check_params()
        features = earlier._input_form.check(X, type(self).__name__)
        self._input_form = earlier._input_form
        self._output_form = self._form_after(earlier, Y)
        labels = self._check_Y_of(self, features, Y)
        data = FitData(features, labels, None, self._input_form, self._output_form)
        data = data.weighted(self._check_weight(sample_weight, len(labels)))
        unknown_labels(data.Y, data.sample_weight)  # stops if all are
        self._refuse_entry_weights(data)
        return data

    def _form_after(self, earlier: Any, Y: Any) -> Any:
        """Return the form of Y for a fit that continues an earlier one."""
        return earlier._output_form

    def _read_X(self, X: Any) -> Features:
        """Check features of rows to predict, in microseconds if they have a plain form."""
        form, rows = vars(self).get("_input_form"), None
        if form is not None and self._checks_numbers:
            rows = form.read(X, type(self).__name__)
        elif form is not None:
            rows = form.read_checked(X, type(self).__name__)
        if rows is None:
            return self._check_X(X)
        self._check_changed_params()
        return rows

    def _check_X(self, X: Any) -> Features:
        """Check features of any rows."""
        check_is_fitted(self)
        self._check_changed_params()
        return self._input_form.check(X, type(self).__name__)

    def _check_changed_params(self) -> None:
        """Check parameters again if an attribute was set since the last check."""
        kept(self, "check", (), self._check_params)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether `fit` has seen data."""
        return "_input_form" in vars(self)

    def _check_eval_set(self, eval_set: EvalSet | None) -> list[tuple[Features, Labels]]:
        """Check the pairs that training evaluates on."""
        checked = []
        for number, (X, Y) in enumerate(checked_pairs(eval_set)):
            features = self._input_form.check(X, type(self).__name__)
            checked.append((features, self._check_Y_of(self, features, Y, f"eval_set[{number}]")))
        return checked

    @abstractmethod
    def _check_Y(self, Y: Any) -> FitData:
        """Check Y in `fit`: a float32 matrix, and what is learned of it."""

    def _check_weight(self, sample_weight: Any, n_samples: int) -> NDArray[Any] | None:
        """Check the weights of `fit`, once Y is known."""
        return check_weight(sample_weight, n_samples)

    @abstractmethod
    def _settle_unknown(self, data: FitData, unknown: NDArray[np.bool_]) -> None:
        """Settle what columns of Y are that are unknown in all rows that count."""

    @abstractmethod
    def _check_Y_of(self, earlier: Any, X: Features, Y: Any, what: str = "Y") -> Labels:
        """Check Y for the rows of X, as in the `fit` of an earlier model."""


@documented
class MultiLabelEstimator(ClassifierMixin, CheckedEstimator):
    """A classifier for label matrices, and for one binary target.

    Examples
    --------
    >>> class Frequencies(MultiLabelEstimator):
    ...     def fit(self, X, Y):
    ...         self.frequencies_ = self._begin_fit(X, Y).Y.mean(axis=0)
    ...         return self
    ...
    ...     def _proba(self, X):
    ...         return np.tile(self.frequencies_, (len(X), 1))
    >>> Frequencies().fit([[0], [1]], [[0, 1], [1, 1]]).predict_proba([[5]])
    array([[0.5, 1. ]], dtype=float32)
    >>> Frequencies().fit([[0], [1], [2]], ["no", "yes", "yes"]).predict([[5]])
    array(['yes'], dtype='<U3')
    """

    _output_form: LabelForm

    n_labels_ = Learned[int]("_output_form", "n_labels")
    label_names_ = Learned[NDArray[np.object_]]("_output_form", "names")
    classes_ = Learned[Classes]("_output_form", "classes")

    def __sklearn_tags__(self) -> Tags:
        """Tags: binary targets and label matrices of zeros and ones."""
        tags = super().__sklearn_tags__()
        assert tags.classifier_tags is not None
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Probability of every label.

        {takes_X}

        Returns
        -------
        float array of shape (n_samples, n_labels) or (n_samples, n_classes)
            Probability that the label is 1; of each class, if Y had one dimension.

        {raises_in_predict}
        """
        proba = self._proba(self._read_X(X))  # which raises NotFittedError before `fit`
        return self._output_form.proba(proba)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels.

        {takes_X}

        Returns
        -------
        int array of shape (n_samples, n_labels), or array of shape (n_samples,)
            Zeros and ones; classes, if Y had one dimension.

        {raises_in_predict}
        """
        labels = self._labels(self._read_X(X))  # which raises NotFittedError before `fit`
        return self._output_form.labels(labels)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows whose known labels are all predicted correctly (subset accuracy).

        Parameters
        ----------
        {X}
        y : array-like, sparse matrix, DataFrame or Series
            Labels in the form of those in `fit`. The columns of a DataFrame are found by their
            names, if those in `fit` had names.
        {sample_weight}

        Returns
        -------
        float
            From 0 to 1.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X or y is not as described, or y has other labels than in `fit`.
        """
        features = self._read_X(X)
        truth = check_labels_as_in_fit(self._output_form, features, y)
        return matching_share(truth, self._labels(features), sample_weight)

    @abstractmethod
    def _proba(self, X: Features) -> NDArray[np.floating]:
        """Predict probabilities for checked features, `(n_samples, n_labels)`."""

    def _margins(self, X: Features) -> NDArray[np.floating]:
        """Predict log-odds for checked features, `(n_samples, n_labels)`."""
        return margins_of(self._proba(X))

    def _contributions(self, X: Features) -> Contributions:
        """Explain the log-odds of checked features as sums over the features."""
        raise TypeError(
            f"{type(self).__name__} cannot be explained by SHAP values: its log-odds are not a sum "
            "over trees or a linear function."
        )

    def _labels(self, X: Features) -> NDArray[np.int64]:
        """Predict labels for checked features, `(n_samples, n_labels)`."""
        return (self._proba(X) >= 0.5).astype(np.int64)

    def _fit_checked(self, data: FitData) -> Self:
        """Fit on checked data."""
        if data.sample_weight is None:
            self.fit(data, data.Y)
        else:
            self.fit(data, data.Y, sample_weight=data.sample_weight)
        return self

    def _fit_with_seeds(self, data: FitData, seeds: Sequence[int]) -> list[Self]:
        """Fit clones on checked data, one for each seed; a single one if seeds do not matter."""
        models = [clone(self).set_params(random_state=seed) for seed in seeds]
        return run_all([partial(model._fit_checked, data) for model in models])

    @classmethod
    def _joined(cls, models: list[Self]) -> list[Self]:
        """Return models that predict as these do together: fewer, if their mean is one."""
        return models

    def _settled_clone(self) -> Self:
        """Clone a fitted estimator, with the settings that training has found."""
        return clone(self)

    def _trained_on(self, data: FitData) -> Self:
        """Train a fitted estimator once more, with its settings, on other checked rows."""
        return self._settled_clone()._fit_checked(data)

    def _out_of_fold(
        self, data: FitData, folds: Folds, *, should_end: ShouldEnd | None = None
    ) -> OutOfFold | None:
        """Train the models of all folds together, on checked data; None if the estimator cannot."""
        return None

    def _memory_of_folds(self, data: FitData, n_folds: int) -> float:
        """Estimate the bytes that `_out_of_fold` takes, at most; 0 if they are few."""
        return 0.0

    def _check_Y(self, Y: Any) -> FitData:
        return check_labels(Y, type(self).__name__, soft=getattr(self, "soft_labels", False))

    def _check_weight(self, sample_weight: Any, n_samples: int) -> NDArray[Any] | None:
        form = self._output_form
        return check_fit_weight(sample_weight, n_samples, form.names, is_named=form.is_named)

    def _settle_unknown(self, data: FitData, unknown: NDArray[np.bool_]) -> None:
        settle_absent(data, unknown)

    def _check_Y_of(self, earlier: Any, X: Features, Y: Any, what: str = "Y") -> Labels:
        soft = getattr(self, "soft_labels", False)
        return check_labels_as_in_fit(earlier._output_form, X, Y, what, soft=soft)


def checked_pairs(eval_set: EvalSet | None) -> EvalSet:
    """Return the entries of an `eval_set`, none for None, if all are pairs.

    Examples
    --------
    >>> checked_pairs([("X", "Y"), "X"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: eval_set must be a sequence of pairs (X, Y), ...; entry 1 is not a pair.
    """
    pairs = [] if eval_set is None else eval_set
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(
                "eval_set must be a sequence of pairs (X, Y), for example [(X, Y)]; "
                f"entry {number} is not a pair."
            )
    return pairs
