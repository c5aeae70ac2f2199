"""``OtherClassifier``: a classifier of another package, as a member of a mixture.

It gets the features as the mixture has checked them: an array or a CSR matrix of float32, NaN where
a value is missing, or a DataFrame with the names of ``fit``, in which categories are categories. It
predicts in its own way; what it predicts is checked, and messages name the member.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from xdcc.base.contributions import Contributions
from xdcc.base.domains import Anything
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, OutOfFold, OutOfTime, ShouldEnd
from xdcc.base.label_rows import sample_rows
from xdcc.base.labels import proba_of_labels
from xdcc.base.side_by_side import run_all
from xdcc.base.stored import learned, stored
from xdcc.decision.cuts import Floats, check_proba
from xdcc.decision.out_of_fold import fit_on
from xdcc.prediction.builder import LayoutBuilder, NotFlat

_TRIALS, _ENTRIES_OF_TRIAL = ((20, 2), (1000, 50)), 2**17
"""Rows of the first and of the second trial, and how many of them are with and without each label,
at least, if a sample of this many entries of Y has them."""

_WANTS_ONE_LABEL = "y should be a 1d array"
"""How classifiers for one label refuse several: by scikit-learn's `column_or_1d`."""


@stored
@declares_parameters
class OtherClassifier(MultiLabelEstimator):
    """A classifier of another package.

    Parameters
    ----------
    classifier : classifier
        With `predict_proba`, not fitted. It is cloned.
    name : str
        Name of the member.
    random_state : int, RandomState instance or None, default=None
        Seed for each `random_state` of the classifier, or of its parts, that is None.

    Attributes
    ----------
    classifier_ : classifier
        Fitted.
    {fitted}
    """

    _takes_categories = True
    _domains = MappingProxyType({"classifier": Anything(), "name": Anything()})

    classifier: Any
    name: str
    random_state: int | np.random.RandomState | None = None

    classifier_: BaseEstimator = learned()

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        {takes_data}

        {returns_self}
        """
        data = self._begin_fit(X, Y, sample_weight)
        model = clone(self.classifier)
        model.set_params(**dict.fromkeys(free_seeds(model), self.random_state))
        self._named(partial(fit_on, model, data._replace(X=self._as_given(data.X))))
        self.classifier_ = model
        return self

    def try_out(self, data: FitData, *, is_timed: bool) -> float:
        """Fit a clone on a few rows, and look at what it predicts.

        There is a second trial, on more rows, if the first one fails or the time is needed.

        Parameters
        ----------
        data : FitData
            Training data.
        is_timed : bool
            Whether the time is needed: on a few rows, most of it does not depend on their number.

        Returns
        -------
        float
            Seconds for each row, by the last trial that did not fail; 0 if both did.

        Raises
        ------
        ValueError
            If it predicts no probabilities of these labels, or takes a single label only.
        Exception
            What the classifier raises, if it is the same in both trials: more rows do not help.
        """
        self._refuse_entry_weights(data)
        seconds, failure = 0.0, ""
        for n_rows, of_each in _TRIALS:
            rows, begun = data.part(_some_rows(data, n_rows, of_each)), time.perf_counter()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = clone(self)._fit_checked(rows)
                    answer = model._answer(rows.X)
            except Exception as error:
                if _WANTS_ONE_LABEL in str(error):
                    raise ValueError(
                        f"The {self._described} takes a single label, and Y has {data.Y.shape[1]}. "
                        "sklearn.multioutput.MultiOutputClassifier fits one for each label. "
                        f"({error})"
                    ) from error
                if repr(error) == failure:
                    raise
                failure = repr(error)
                continue
            model._checked(answer, len(rows.Y))
            seconds = (time.perf_counter() - begun) / len(rows.Y)
            if not is_timed:
                break
        return seconds

    @property
    def _described(self) -> str:
        return f"member {self.name!r} ({type(self.classifier).__name__})"

    def _refuse_entry_weights(self, data: FitData) -> None:
        if data.has_entry_weights:
            raise ValueError(
                f"sample_weight is a matrix, but the {self._described} learns with weights of "
                "rows, (n_samples,). The labels of a row need the same weight, or 0 (unknown)."
            )

    def _fit_with_seeds(self, data: FitData, seeds: Sequence[int]) -> list[Self]:
        return super()._fit_with_seeds(data, seeds if free_seeds(self.classifier) else seeds[:1])

    def _out_of_fold(
        self, data: FitData, folds: Folds, *, should_end: ShouldEnd | None = None
    ) -> OutOfFold:
        """Train a model without each fold: side by side, unless it has threads of its own."""
        n_trained = 0

        def train(fold: int) -> tuple[Self, Floats]:
            nonlocal n_trained
            if n_trained and should_end is not None and should_end(n_trained):
                raise OutOfTime
            model = clone(self)._fit_checked(data.part(np.flatnonzero(folds.trains(fold))))
            n_trained += 1
            return model, model._margins(data.take(folds.tests(fold)).X)

        tasks = [partial(train, fold) for fold in range(folds.n_folds)]
        has_threads = hasattr(self.classifier, "n_jobs")
        found = [task() for task in tasks] if has_threads else run_all(tasks)
        margins = np.full(data.Y.shape, np.nan)
        for fold, (_, of_fold) in enumerate(found):
            margins[folds.tests(fold)] = of_fold
        return OutOfFold(margins, [model for model, _ in found], clone(self))

    def _proba(self, X: Features) -> Floats:
        return self._checked(self._answer(X), X.shape[0])

    def _answer(self, X: Features) -> Any:
        """Predict in the form of the classifier."""
        given = self._as_given(X)
        return self._named(partial(self.classifier_.predict_proba, given))

    def _checked(self, answer: Any, n_rows: int) -> Floats:
        """Check what the classifier predicts, and return an array `(n_rows, n_labels)`."""
        classes = getattr(self.classifier_, "classes_", ())
        try:
            proba = check_proba(proba_of_labels(answer, classes, self.n_labels_))
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"The {self._described} predicts {_form_of(answer)}, which holds no probabilities "
                f"of {self.n_labels_} labels: {error}"
            ) from error
        if proba.shape != (n_rows, self.n_labels_):
            raise ValueError(
                f"The {self._described} predicts {_form_of(answer)} for {n_rows} rows; expected "
                f"{(n_rows, self.n_labels_)}, or a list with an array for each label."
            )
        return proba

    def _named(self, call: Callable[[], Any]) -> Any:
        """Call; the traceback of an exception names the member."""
        try:
            return call()
        except Exception as error:
            error.add_note(f"The {self._described} raised this.")
            raise

    def _as_given(self, X: Features) -> Any:
        """Make a DataFrame of checked features, if they have names or categories."""
        categories = getattr(self, "categories_", {})
        names = getattr(self, "feature_names_in_", None)
        if sparse.issparse(X) or (names is None and not categories):
            return X
        frame = pd.DataFrame(X, columns=range(X.shape[1]))
        for position, values in categories.items():
            codes = np.where(np.isnan(X[:, position]), -1, X[:, position]).astype(np.intp)
            frame[position] = pd.Categorical.from_codes(codes, categories=values)
        if names is not None:
            frame.columns = list(names)
        return frame

    def _add_to(self, builder: LayoutBuilder) -> None:
        kind = type(self.classifier)
        raise NotFlat(f"{kind.__module__}.{kind.__name__} (the member {self.name!r})")

    def _contributions(self, X: Features) -> Contributions:
        raise TypeError(
            f"The {self._described} cannot be explained by SHAP values: only boosters, forests and "
            "linear models of xdcc can."
        )

    @property
    def label_importances_(self) -> NDArray[np.float64]:
        """Not known: a TypeError names the member."""
        raise TypeError(
            f"The {self._described} has no importances of features for each label: only boosters, "
            "forests and linear models of xdcc have."
        )


def free_seeds(classifier: Any) -> list[str]:
    """Name the parameters that seed a classifier or its parts, and are None.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.multioutput import MultiOutputClassifier
    >>> free_seeds(MultiOutputClassifier(SGDClassifier()))
    ['estimator__random_state']
    """
    params = classifier.get_params()
    seeds = [name for name in params if name.rpartition("__")[2] == "random_state"]
    return [name for name in seeds if params[name] is None]


def _some_rows(data: FitData, n_rows: int, of_each: int) -> NDArray[np.intp]:
    """Take some rows: at least `of_each` with and without each label, if there are as many."""
    rows = sample_rows(data.Y.shape, data.counts, _ENTRIES_OF_TRIAL)
    Y = data.Y[rows]
    is_taken = np.arange(len(rows)) < n_rows
    for value in (0, 1):
        has = value == Y
        is_taken |= (has & (np.cumsum(has, axis=0) <= of_each)).any(axis=1)
    return rows[is_taken]


def _form_of(answer: Any) -> str:
    """Describe what `predict_proba` returned."""
    if isinstance(answer, list):
        return f"a list of arrays of the shapes {', '.join(str(np.shape(each)) for each in answer)}"
    return f"an array of the shape {np.shape(answer)}"
