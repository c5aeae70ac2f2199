"""scikit-learn's classifier chain of label models, with missing values and unknown labels.

The chain takes neither, so both travel through it as a stand-in (:data:`MISSING`), which the
label models are told to read as missing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, multioutput

from xdcc.base.documentation import documented
from xdcc.base.features import Features
from xdcc.baselines.label_model import LabelModel

MISSING = float(np.finfo(np.float32).min)
"""Stands for NaN on the way through scikit-learn's chain: the least float32."""


def fit_chain(
    model: LabelModel,
    X: Features,
    Y: NDArray[np.float32],
    order: NDArray[np.intp],
    sample_weight: NDArray[np.float32] | None,
) -> multioutput.ClassifierChain:
    """Train a chain on the true labels.

    Parameters
    ----------
    model : LabelModel
        Is copied for every label; reads :data:`MISSING` as missing.
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        As for :func:`with_stand_in`.
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown.
    order : int array of shape (n_labels,)
        Indices of the labels in the chain's order.
    sample_weight : float32 array of shape (n_samples,) or None
        Weights of the rows.

    Returns
    -------
    sklearn.multioutput.ClassifierChain
        The fitted chain; it predicts from X as :func:`with_stand_in` returns it.
    """
    chain = multioutput.ClassifierChain(model, order=order)
    X_filled = with_stand_in(X)
    Y_filled = np.where(np.isnan(Y), np.float32(MISSING), Y)
    if sample_weight is None:
        return chain.fit(X_filled, Y_filled)
    # scikit-learn's chain hands weights on to its models only by metadata routing.
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
        return chain.fit(X_filled, Y_filled, sample_weight=sample_weight)


@documented
def with_stand_in(X: Features) -> Features:
    """Return a copy of X with the stand-in for missing values in place of NaN.

    {takes_features}

    Returns
    -------
    float32 array or CSR matrix of shape (n_samples, n_features)

    Examples
    --------
    >>> with_stand_in(np.array([[1, np.nan]], dtype=np.float32)) == MISSING
    array([[False,  True]])
    """
    if isinstance(X, np.ndarray):
        return np.where(np.isnan(X), np.float32(MISSING), X)
    filled: Any = X.copy()
    filled.data[np.isnan(filled.data)] = MISSING
    return filled
