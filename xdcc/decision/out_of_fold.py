"""Out-of-fold probabilities of any classifier.

A row is predicted by a clone that was trained without its fold. Estimators that do this themselves
and better, as boosters that find their number of iterations on the way, are asked to
(:mod:`xdcc.base.folds`).

`proba_of` gets the probabilities from any classifier, in the one form that decision rules want.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone

from xdcc.base.fit_data import take_rows
from xdcc.base.folds import OutOfFold, TrainsOutOfFold
from xdcc.base.labels import label_scores
from xdcc.base.threads import n_threads
from xdcc.decision.calibration import margins_of
from xdcc.decision.cuts import Floats, check_proba


def proba_of(model: Any, X: Any, n_labels: int) -> Floats:
    """Predict a probability for every label.

    Parameters
    ----------
    model : classifier
        A fitted one, with `predict_proba` or `decision_function`. Scores are turned into numbers
        from 0 to 1 by the logistic function: an order, not probabilities in earnest.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        What the classifier takes.
    n_labels : int
        Number of labels.

    Returns
    -------
    float64 array of shape (n_samples, n_labels)
        Probability that the label is 1; of the second class where the classifier has seen a
        binary target.

    Raises
    ------
    ValueError
        If the classifier's answer has other labels or holds no probabilities.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, Y = make_multilabel_classification(n_classes=3, random_state=0)
    >>> proba_of(KNeighborsClassifier().fit(X, Y), X, n_labels=3).shape
    (100, 3)
    """
    scores = label_scores(model, X, n_labels)
    return check_proba(scores if hasattr(model, "predict_proba") else expit(scores))


def out_of_fold(
    estimator: Any,
    X: Any,
    Y: Any,
    folds: NDArray[np.intp],
    *,
    n_labels: int,
    sample_weight: NDArray[np.float32] | None = None,
    n_jobs: int | None = None,
) -> OutOfFold:
    """Let a classifier train its folds as it does best: by itself if it can, else one by one.

    Parameters
    ----------
    estimator, X, Y, folds, n_labels, sample_weight, n_jobs
        As in :func:`cross_fit`. A classifier that trains all folds by itself uses as many threads
        as its own `n_jobs` says, and may find other settings than it has, which all its folds and
        `unfitted` then share.

    Returns
    -------
    OutOfFold

    Raises
    ------
    ValueError
        As :func:`cross_fit`.
    """
    if isinstance(estimator, TrainsOutOfFold):
        return clone(estimator).out_of_fold(X, Y, folds, sample_weight)
    return cross_fit(
        estimator, X, Y, folds, n_labels=n_labels, sample_weight=sample_weight, n_jobs=n_jobs
    )


def cross_fit(
    estimator: Any,
    X: Any,
    Y: Any,
    folds: NDArray[np.intp],
    *,
    n_labels: int,
    sample_weight: NDArray[np.float32] | None = None,
    n_jobs: int | None = None,
) -> OutOfFold:
    """Train a classifier, as it is, for each fold without it, and predict the fold with it.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba` or `decision_function`. It is cloned, not changed.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        What the classifier takes.
    Y : array-like, sparse matrix, DataFrame or Series
        What the classifier takes.
    folds : int array of shape (n_samples,)
        Fold of each row, from 0.
    n_labels : int
        Number of labels.
    sample_weight : float32 array of shape (n_samples,), optional
        Weights of the rows, for training.
    n_jobs : int or None, default=None
        How many folds are trained at a time, in threads; -1 for as many as there are CPUs, -2 for
        one less, and so on. None is one if the classifier has an `n_jobs` of its own, else as -1.

    Returns
    -------
    OutOfFold

    Raises
    ------
    ValueError
        If the classifier refuses the data, or its probabilities have another shape.
    """

    def fold_model(fold: int) -> tuple[Any, NDArray[np.float64]]:
        rows, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        weight = None if sample_weight is None else sample_weight[others]
        model = fit_on(clone(estimator), take_rows(X, others), take_rows(Y, others), weight)
        return model, proba_of(model, take_rows(X, rows), n_labels)

    if n_jobs is None:
        n_jobs = 1 if hasattr(estimator, "n_jobs") else -1
    n_folds = int(folds.max()) + 1
    # Threads, so that nothing has to be pickled; what takes long runs without the interpreter.
    parallel = Parallel(n_jobs=min(n_threads(n_jobs), n_folds), prefer="threads")
    found = parallel(delayed(fold_model)(fold) for fold in range(n_folds))
    proba = np.empty((len(folds), n_labels))
    for fold, (_, of_fold) in enumerate(found):
        proba[folds == fold] = of_fold
    return OutOfFold(proba, [model for model, _ in found], clone(estimator))


def mean_margins(estimators: Sequence[Any], X: Any, n_labels: int) -> Floats:
    """Predict with the classifiers of all folds together.

    Parameters
    ----------
    estimators : sequence of classifiers
        Fitted, at least one.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        What they take.
    n_labels : int
        Number of labels.

    Returns
    -------
    float64 array of shape (n_samples, n_labels)
        The mean of their log-odds.
    """
    found = (margins_of(proba_of(model, X, n_labels)) for model in estimators)
    margins = next(found)
    for more in found:
        margins += more
    return margins / len(estimators)


def fit_on(model: Any, X: Any, Y: Any, weight: NDArray[np.float32] | None) -> Any:
    """Fit a classifier, which hears of weights only if there are any.

    Parameters
    ----------
    model : classifier
        Is fitted.
    X, Y : array-like, sparse matrix or DataFrame
        What it takes.
    weight : float32 array of shape (n_samples,) or None
        Weights of the rows.

    Returns
    -------
    classifier
        The same.
    """
    return model.fit(X, Y) if weight is None else model.fit(X, Y, sample_weight=weight)
