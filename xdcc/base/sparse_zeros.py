"""What a sparse X means where it stores nothing: a missing value, or a zero.

XGBoost takes it for a missing value, scikit-learn for a zero. Who fits on one form of X and
predicts on the other would get something else than expected without a word. So it is a parameter
of the estimators on XGBoost, `sparse_zeros`, and this is the one place that reads it.
"""

from typing import Any, Literal, get_args

from scipy import sparse

SparseZeros = Literal["missing", "zero"]

SPARSE_ZEROS: tuple[str, ...] = get_args(SparseZeros)
"""The two meanings of an entry that a sparse X does not store."""


def settle_sparse_zeros(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Give X the form in which its zeros mean what they are to mean.

    Parameters
    ----------
    estimator : MultiLabelEstimator
        Its method `_sparse_zeros` tells what an entry that is not stored means; None leaves that
        to its method of learning. With `reset` the attribute `sparse_X_` is set: whether there
        was a sparse X whose entries that are not stored are missing.
    X : float32 array or sparse matrix of shape (n_samples, n_features)
        Checked features.
    reset : bool
        Whether this is the X of fit.

    Returns
    -------
    float32 array or sparse matrix of shape (n_samples, n_features)
        With ``"zero"`` a sparse X becomes an array, which takes 4 bytes for every entry, stored or
        not.

    Raises
    ------
    ValueError
        With ``"missing"``, if X is sparse and was dense in fit, or the reverse.

    Examples
    --------
    >>> from xdcc import BinaryRelevance
    >>> X = sparse.csr_matrix([[0, 2], [3, 0]])
    >>> settle_sparse_zeros(BinaryRelevance(sparse_zeros="zero"), X, reset=True)
    array([[0, 2],
           [3, 0]])
    >>> estimator = BinaryRelevance()
    >>> settle_sparse_zeros(estimator, X, reset=True) is X, estimator.sparse_X_
    (True, True)
    """
    meaning = estimator._sparse_zeros()
    if meaning is None:
        return X
    if meaning == "zero" and sparse.issparse(X):
        X = X.toarray(order="C")
    if reset:
        estimator.sparse_X_ = sparse.issparse(X)
    elif estimator.sparse_X_ != sparse.issparse(X):
        found, before = ("sparse", "dense") if sparse.issparse(X) else ("dense", "sparse")
        raise ValueError(
            f"X is {found}, but in fit it was {before}. With sparse_zeros='missing' an entry that "
            "a sparse X does not store is a missing value, where a dense X would have a zero, and "
            "trees tell the two apart. Fit with sparse_zeros='zero' if both mean a zero, or give X "
            "the form that it had in fit."
        )
    return X
