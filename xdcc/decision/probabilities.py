"""Probabilities of labels from any classifier, in the one form that decision rules want."""

from typing import Any

from scipy.special import expit

from xdcc.base.labels import label_scores
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


def require_proba(model: Any) -> None:
    """Stop if a classifier gives neither probabilities nor scores.

    Parameters
    ----------
    model : classifier
        Fitted or not.

    Raises
    ------
    ValueError
        If it has neither `predict_proba` nor `decision_function`.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> require_proba(LinearSVC())  # says nothing: it has a decision_function
    """
    if not (hasattr(model, "predict_proba") or hasattr(model, "decision_function")):
        raise ValueError(
            f"{type(model).__name__} has neither predict_proba nor decision_function; decision "
            "rules need one of them."
        )
