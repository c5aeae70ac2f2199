"""Out-of-fold predictions of any classifier.

A row is predicted by a clone that was trained without its fold. Estimators that can train all folds
together, such as boosters that find their number of rounds on the way, do so themselves
(:mod:`xdcc.base.folds`).

Estimators of this package get checked data and give margins. Other classifiers get X as the user
gave it, and labels in the form of those in ``fit``; :func:`margins_by` and :func:`proba_by` get
their predictions.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone

from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.fit_data import FitData, take_rows
from xdcc.base.folds import Folds, OutOfFold, ShouldEnd, TrainsOutOfFold
from xdcc.base.labels import label_scores
from xdcc.base.margins import margins_of
from xdcc.base.side_by_side import run_all, side_by_side
from xdcc.base.threads import n_threads
from xdcc.decision.cuts import Floats, check_proba

type Predict = Callable[[Any, Any, int], Floats]
"""From a fitted classifier, its X and the number of labels to an array (n_samples, n_labels)."""


def proba_by(model: Any, X: Any, n_labels: int) -> Floats:
    """Predict the probability of every label, `(n_samples, n_labels)`.

    Scores of a `decision_function` are made numbers from 0 to 1 by the logistic function. X is
    checked for an estimator of this package, and else what the classifier takes. A ValueError says
    that the classifier predicts another number of labels.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, Y = make_multilabel_classification(n_classes=3, random_state=0)
    >>> proba_by(KNeighborsClassifier().fit(X, Y), X, n_labels=3).shape
    (100, 3)
    """
    if isinstance(model, MultiLabelEstimator):
        return check_proba(model._proba(X))
    scores = label_scores(model, X, n_labels)
    return check_proba(scores if hasattr(model, "predict_proba") else expit(scores))


def margins_by(model: Any, X: Any, n_labels: int) -> Floats:
    """Predict the log-odds of every label, as :func:`proba_by` does probabilities.

    The scores of a `decision_function` are log-odds as they are; all have to be finite.
    """
    if isinstance(model, MultiLabelEstimator):
        return np.asarray(model._margins(X), dtype=np.float64)
    scores = label_scores(model, X, n_labels)
    if hasattr(model, "predict_proba"):
        return margins_of(check_proba(scores))
    if not np.isfinite(scores).all():
        raise ValueError(f"{type(model).__name__} gives scores that are not finite.")
    return scores


def out_of_fold(
    estimator: Any,
    data: FitData,
    folds: Folds | NDArray[np.intp],
    *,
    n_jobs: int | None = None,
    should_end: ShouldEnd | None = None,
) -> OutOfFold:
    """Train a classifier for each fold without it: all folds together if it can, else one by one.

    Parameters and errors are those of :func:`cross_fit`. A classifier that trains all folds by
    itself uses as many threads as its own `n_jobs` says, and may find other settings than it has,
    which all its folds and `unfitted` then share. Margins are in double precision. `should_end`
    is called between the steps of such a classifier, with their number; True ends the training.
    """
    found, parts = None, Folds.of(folds, len(data.Y))
    if isinstance(estimator, MultiLabelEstimator):
        found = estimator._out_of_fold(data, parts, should_end=should_end)
    elif isinstance(estimator, TrainsOutOfFold) and parts.train is None:
        found = clone(estimator).out_of_fold(data.X, data.target(), parts.test, data.sample_weight)
    if found is not None:
        return found._replace(margins=np.asarray(found.margins, dtype=np.float64))
    models, margins = cross_fit(estimator, data, parts, margins_by, n_jobs=n_jobs)
    return OutOfFold(margins, models, clone(estimator))


def cross_fit(
    estimator: Any,
    data: FitData,
    folds: Folds | NDArray[np.intp],
    predict: Predict,
    *,
    n_jobs: int | None = None,
) -> tuple[list[Any], Floats]:
    """Train a classifier, as it is, for each fold without it, and predict the fold with it.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba` or `decision_function`. It is cloned, not changed.
    data : FitData
        Training data. X is checked for an estimator of this package, and is else what the
        classifier takes.
    folds : Folds, or int array of shape (n_samples,)
        Fold of each row, from 0, and -1 for a row that no fold tests.
    predict : callable
        Prediction to make: :func:`margins_by` or :func:`proba_by`.
    n_jobs : int or None, default=None
        How many folds are trained at a time, in threads; -1 for as many as there are CPUs, -2 for
        one less, and so on. None is the `n_jobs` of an estimator of this package, 1 if another
        classifier has an `n_jobs` of its own, and else -1.

    Returns
    -------
    models : list of classifiers
        One for each fold.
    predicted : float64 array of shape (n_samples, n_labels)
        Each row's prediction by the model of the fold that tests it, NaN if none does.

    Raises
    ------
    ValueError
        If the classifier refuses the data, or its predictions have another shape.
    """
    n_labels, parts = data.Y.shape[1], Folds.of(folds, len(data.Y))

    def fold_model(fold: int) -> tuple[Any, Floats]:
        rows, others = np.flatnonzero(parts.tests(fold)), np.flatnonzero(parts.trains(fold))
        model = fit_on(clone(estimator), data, others)
        return model, predict(model, take_rows(data.X, rows), n_labels)

    of_package = isinstance(estimator, MultiLabelEstimator)
    if n_jobs is None and hasattr(estimator, "n_jobs"):
        n_jobs = estimator.n_jobs if of_package else 1
    # Threads, so that nothing has to be pickled; what takes long runs without the interpreter.
    n = n_threads(n_jobs) if of_package else min(n_threads(n_jobs), parts.n_folds)
    with side_by_side(n, limit_blas=of_package):
        found = run_all([partial(fold_model, fold) for fold in range(parts.n_folds)])
    predicted = np.full(data.Y.shape, np.nan)
    for fold, (_, of_fold) in enumerate(found):
        predicted[parts.tests(fold)] = of_fold
    return [model for model, _ in found], predicted


def mean_margins(estimators: Sequence[Any], X: Any, n_labels: int) -> Floats:
    """Predict the mean log-odds of classifiers, `(n_samples, n_labels)`, as :func:`margins_by`."""
    total = margins_by(estimators[0], X, n_labels)
    for model in estimators[1:]:
        total = total + margins_by(model, X, n_labels)
    return total / len(estimators)


def trained_on(model: Any, data: FitData) -> Any:
    """Train a fitted classifier once more, with its settings, on other rows; return another one.

    As in :func:`fit_on`, X is checked for an estimator of this package.
    """
    if isinstance(model, MultiLabelEstimator):
        return model._trained_on(data)
    return fit_on(clone(model), data)


def fit_on(model: Any, data: FitData, rows: NDArray[np.intp] | None = None) -> Any:
    """Fit a classifier, on `rows` only if they are given, and return it.

    One of another package receives `sample_weight` only if there are weights.
    """
    if isinstance(model, MultiLabelEstimator):
        return model._fit_checked(data if rows is None else data.part(rows))
    if rows is not None:
        data = data.take(rows)
    if data.sample_weight is None:
        return model.fit(data.X, data.target())
    return model.fit(data.X, data.target(), sample_weight=data.sample_weight)
