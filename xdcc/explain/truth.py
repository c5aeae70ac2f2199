"""Check the true labels that an explanation compares with."""

from typing import Any

from sklearn.utils.validation import check_consistent_length, check_is_fitted

from xdcc.base.fit_data import check_labels_as_in_fit
from xdcc.base.labels import Labels
from xdcc.explain.documentation import documented_explanation
from xdcc.explain.walks import Model


@documented_explanation
def check_truth(model: Model, X: Any, Y: Any) -> Labels:
    """Check that labels belong to a model and to rows.

    Parameters
    ----------
    {model}
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The rows. Only their number is looked at.
    Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
        0, 1, or NaN for unknown; classes, if Y had one dimension in fit.

    Returns
    -------
    float32 array of shape (n_samples, n_labels)
        The labels.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If Y holds another value, or has another number of labels than the model or of rows
        than X.
    """
    check_is_fitted(model)
    truth = check_labels_as_in_fit(model, Y)
    check_consistent_length(X, truth)
    return truth
