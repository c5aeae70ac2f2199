"""Chains with one label order for all rows: the orders, and scikit-learn's chain of label models.

An order has a name, or is given, or is read from a dynamic chain. scikit-learn's chain takes
neither missing values nor unknown labels, so both travel through it as a stand-in
(:data:`MISSING`), which the label models are told to read as missing.
"""

from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context, multioutput

from xdcc.base.documentation import documented
from xdcc.base.domains import Choice, check_domain
from xdcc.base.features import Features
from xdcc.base.labels import label_frequency
from xdcc.baselines.label_model import LabelModel

Order = Literal["random", "frequent", "rare"]

ORDERS: tuple[str, ...] = get_args(Order)
"""The label orders of a classifier chain that have a name."""

ORDER_ENTRIES = {
    "order": """
        order : {"random", "frequent", "rare"} or array-like of shape (n_labels,), default="random"
            Order of the labels: drawn with `random_state`, the most or the least frequent first
            (ties by position), or the labels' indices, for example from :func:`chain_order_of`.
        """,
    "chain": """
        order_ : int array of shape (n_labels,)
            Indices of the labels in the chain's order.
        model_ : sklearn.multioutput.ClassifierChain
            Holds the labels' models.
        """,
}
"""What the documentation of chains with one order for all rows shares."""

MISSING = float(np.finfo(np.float32).min)
"""Stands for NaN on the way through scikit-learn's chain: the least float32."""


class _ChainOrder(Protocol):
    def rounds(self, n_labels: int) -> NDArray[np.intp]: ...


class _DynamicChain(Protocol):
    n_labels_: int

    def chain_order(self, X: Any) -> _ChainOrder: ...


def check_order(order: Order | ArrayLike, n_labels: int | None = None) -> None:
    """Stop if an order is neither a known name nor a permutation of the labels.

    Parameters
    ----------
    order : {"random", "frequent", "rare"} or array-like of shape (n_labels,)
        A name or the labels' indices.
    n_labels : int or None
        Number of labels; None, before the data are known, checks a name only.

    Raises
    ------
    ValueError
        If it is something else.

    Examples
    --------
    >>> check_order("rarest")
    Traceback (most recent call last):
    ValueError: order='rarest': it has to be one of 'random', 'frequent', 'rare'.
    """
    if isinstance(order, str):
        check_domain("order", order, Choice(ORDERS))
    elif n_labels is not None:
        indices = np.asarray(order)
        if indices.ndim != 1 or not np.array_equal(np.sort(indices), np.arange(n_labels)):
            raise ValueError(
                f"order={order!r}: it has to hold every label's index from 0 to "
                f"{n_labels - 1} once, or be {Choice(ORDERS)}."
            )


def resolve_order(
    order: Order | ArrayLike,
    Y: NDArray[np.floating],
    sample_weight: NDArray[np.floating] | None,
    random: np.random.RandomState,
) -> NDArray[np.intp]:
    """Turn an order into indices.

    Parameters
    ----------
    order : {"random", "frequent", "rare"} or array-like of shape (n_labels,)
        Drawn, the most or the least frequent label first (ties by position), or the indices.
    Y : float array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown.
    sample_weight : float array of shape (n_samples,) or None
        Weights of the rows in the frequencies.
    random : RandomState
        Draws a random order.

    Returns
    -------
    int array of shape (n_labels,)
        Indices of the labels in the chain's order.

    Raises
    ------
    ValueError
        As in :func:`check_order`.

    Examples
    --------
    >>> Y = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 1]])
    >>> resolve_order("rare", Y, None, np.random.RandomState(0))
    array([1, 2, 0])
    """
    n_labels = Y.shape[1]
    check_order(order, n_labels)
    if not isinstance(order, str):
        return np.asarray(order).astype(np.intp)
    if order == "random":
        return random.permutation(n_labels)
    frequency = label_frequency(Y, sample_weight, empty=0)
    return np.argsort(frequency if order == "rare" else -frequency, kind="stable")


def chain_order_of(dynamic_chain: _DynamicChain, X: Any) -> NDArray[np.intp]:
    """Read a fixed label order from a trained dynamic chain.

    Labels are sorted by the mean, over the rows of X, of the round in which the chain propagates
    them. Where it never does, one more than the number of rounds is counted. Ties go to the
    lowest label.

    Parameters
    ----------
    dynamic_chain : DynamicChainClassifier
        A fitted chain.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        For a fair baseline, the rows it was trained on.

    Returns
    -------
    int array of shape (n_labels,)
        Indices of the labels, for the `order` of :class:`ClassifierChain`.

    Raises
    ------
    NotFittedError
        If the chain is not fitted.
    ValueError
        If X does not suit the chain.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> dynamic = xdcc.DynamicChainClassifier(chain_length=3, n_estimators=5, cv=2)
    >>> order = chain_order_of(dynamic.fit(data.X, data.Y), data.X)
    >>> static = xdcc.ClassifierChain(order=order, n_estimators=5).fit(data.X, data.Y)
    >>> static.order_
    array([0, 1, 2])
    """
    order = dynamic_chain.chain_order(X)
    return np.argsort(order.rounds(dynamic_chain.n_labels_).mean(axis=0), kind="stable")


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
