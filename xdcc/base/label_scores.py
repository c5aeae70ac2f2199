"""What any classifier says of labels before it decides: one score for each row and label.

scikit-learn's classifiers answer in several forms. Their probabilities come as one array
``(n_samples, n_labels)``, as a list with an array ``(n_samples, n_classes)`` for each label, or for
a single label as ``(n_samples, n_classes)``; some have a decision function only.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]


def label_scores(estimator: Any, X: Any, n_labels: int) -> Floats:
    """Probabilities of the labels, or without them the values of the decision function.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier with `predict_proba` or `decision_function`, for labels 0 and 1 or a
        binary target.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        What the estimator takes.
    n_labels : int
        How many labels it was trained for.

    Returns
    -------
    float array of shape (n_samples, n_labels)
        Higher where a label, or the second class, is more likely. A label that was 0 in all of
        the training rows of a scikit-learn classifier has the probability 0.

    Raises
    ------
    AttributeError
        If the estimator has neither method.
    ValueError
        If what it returns has another number of labels.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(random_state=0).fit([[0], [1]], [[0, 1], [1, 1]])
    >>> [proba.shape for proba in tree.predict_proba([[0], [1]])]
    [(2, 2), (2, 1)]
    >>> label_scores(tree, [[0], [1]], n_labels=2)
    array([[0., 1.],
           [1., 1.]])
    """
    if hasattr(estimator, "predict_proba"):
        answer, classes = estimator.predict_proba(X), getattr(estimator, "classes_", ())
        if isinstance(answer, list):
            pairs = zip(answer, classes, strict=True)
            scores = np.column_stack([_of_positive(proba, known) for proba, known in pairs])
        elif n_labels == 1 and np.shape(answer)[1] == np.size(classes):
            scores = _of_positive(answer, np.ravel(classes))[:, np.newaxis]
        else:
            scores = np.asarray(answer, dtype=np.float64)
    elif hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            scores = scores[:, np.newaxis]
    else:
        raise AttributeError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function, one of "
            "which is needed for scores of labels."
        )
    if scores.ndim != 2 or scores.shape[1] != n_labels:
        raise ValueError(
            f"{type(estimator).__name__} gives scores of the shape {scores.shape}; expected "
            f"(n_samples, {n_labels}), one for each label."
        )
    return scores


def _of_positive(proba: Any, classes: Any) -> Floats:
    """Take the second class; where training rows had one class only it may be the class 1."""
    values = np.asarray(proba, dtype=np.float64)
    if len(classes) == 2:
        return values[:, 1]
    return values[:, 0] if classes[0] == 1 else np.zeros(len(values))
