"""Check the true labels that an explanation compares with."""

from typing import Any

from sklearn.utils.validation import check_consistent_length, check_is_fitted

from xdcc.base.fit_data import check_labels_as_in_fit
from xdcc.base.labels import Labels
from xdcc.chain.classifier import DynamicChainClassifier


def check_truth(chain: DynamicChainClassifier, X: Any, Y: Any) -> Labels:
    """Check that labels belong to a chain and to rows.

    Parameters
    ----------
    chain : DynamicChainClassifier
        A fitted chain.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The rows. Only their number is looked at.
    Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
        0, 1, or NaN for unknown.

    Returns
    -------
    float32 array of shape (n_samples, n_labels)
        The labels.

    Raises
    ------
    NotFittedError
        If the chain is not fitted.
    ValueError
        If Y holds another value, or has another number of labels than the chain or of rows
        than X.
    """
    check_is_fitted(chain)
    truth = check_labels_as_in_fit(chain, Y)
    check_consistent_length(X, truth)
    return truth
