"""Probabilities of labels from any classifier, in one form.

scikit-learn's classifiers answer in three: one array `(n_samples, n_labels)`, a list of one array
`(n_samples, 2)` for each label (forests, trees, neighbours, ``MultiOutputClassifier``), or, without
probabilities, the scores of ``decision_function``. Decision rules want the first.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

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
        binary target. A label of which it has seen one value has that value's probability.

    Raises
    ------
    ValueError
        If the classifier's answer has another form or other labels.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, Y = make_multilabel_classification(n_classes=3, random_state=0)
    >>> proba_of(KNeighborsClassifier().fit(X, Y), X, n_labels=3).shape
    (100, 3)
    """
    if hasattr(model, "predict_proba"):
        return _checked(
            model, "predict_proba", _of_classes(model.predict_proba(X), model), n_labels
        )
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    scores = scores[:, np.newaxis] if scores.ndim == 1 else scores
    return _checked(model, "decision_function", expit(scores), n_labels)


def require_proba(model: Any) -> None:
    """Stop if a classifier gives neither probabilities nor scores.

    Parameters
    ----------
    model : classifier

    Raises
    ------
    ValueError
        If it has neither `predict_proba` nor `decision_function`.
    """
    if not (hasattr(model, "predict_proba") or hasattr(model, "decision_function")):
        raise ValueError(
            f"{type(model).__name__} has neither predict_proba nor decision_function; decision "
            "rules need one of them."
        )


def _of_classes(found: Any, model: Any) -> NDArray[Any]:
    classes = getattr(model, "classes_", None)
    if isinstance(found, list):
        known = classes if isinstance(classes, list) else [np.array([0, 1])] * len(found)
        columns = [_of_second(*pair) for pair in zip(found, known, strict=True)]
        return np.stack(columns, axis=1)
    found = np.asarray(found)
    # A binary target has an array of classes, a label matrix a list or none at all.
    if isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.shape == found.shape[1:]:
        is_target = len(classes) <= 2 and not np.array_equal(classes, np.arange(found.shape[1]))
        sums_to_one = found.shape[1] <= 2 and np.allclose(found.sum(axis=1), 1)
        if is_target or sums_to_one:
            return _of_second(found, classes)[:, np.newaxis]
    return found


def _of_second(proba: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Probability of the second of two classes, or of 1 where there was only one."""
    if proba.shape[1] == 1:
        return np.full(len(proba), float(classes[0] == 1))
    return proba[:, 1]


def _checked(model: Any, method: str, found: NDArray[Any], n_labels: int) -> Floats:
    if found.ndim != 2 or found.shape[1] != n_labels:
        raise ValueError(
            f"{method} of {type(model).__name__} returns shape {found.shape}; it has to return "
            f"one array (n_samples, n_labels) with {n_labels} labels, or a list of one "
            "(n_samples, 2) for each."
        )
    return check_proba(found)
