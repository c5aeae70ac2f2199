"""Chains with one label order for all rows: orders, and training of scikit-learn's chain.

scikit-learn's chain accepts neither missing values nor unknown labels, so a placeholder
(:data:`MISSING`) represents both, and the label models treat it as missing.
"""

from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context, multioutput

from xdcc.base.domains import Choice, check_domain
from xdcc.base.features import Features
from xdcc.base.labels import label_frequency
from xdcc.comparators.baselines.label_model import LabelModel

Order = Literal["random", "frequent", "rare"]

ORDERS: tuple[str, ...] = get_args(Order)
"""Names of label orders of a classifier chain."""

ORDER_ENTRIES = {
    "order": """
        order : {"random", "frequent", "rare"} or array-like of shape (n_labels,), default="random"
            Order of the labels: random, the most or the least frequent first (ties by position),
            or the indices of the labels, for example from :func:`chain_order_of`.
        """,
    "chain": """
        order_ : int array of shape (n_labels,)
            Indices of the labels in the order of the chain.
        model_ : sklearn.multioutput.ClassifierChain
            The models of the labels.
        """,
}
"""Docstring entries of chains with one order for all rows."""

MISSING = float(np.finfo(np.float32).min)
"""Placeholder for NaN inside scikit-learn's chain: the smallest float32."""


class _ChainOrder(Protocol):
    def rounds(self, n_labels: int) -> NDArray[np.intp]: ...


class _DynamicChain(Protocol):
    n_labels_: int

    def chain_order(self, X: Any) -> _ChainOrder: ...


def check_order(order: Order | ArrayLike, n_labels: int | None = None) -> None:
    """Raise ValueError if an order is neither a known name nor a permutation of the labels.

    Without `n_labels`, check only names.
    """
    if isinstance(order, str):
        check_domain("order", order, Choice(ORDERS))
    elif n_labels is not None:
        indices = np.asarray(order)
        if indices.ndim != 1 or not np.array_equal(np.sort(indices), np.arange(n_labels)):
            raise ValueError(
                f"order={order!r}: it must be a permutation of the label indices 0 to "
                f"{n_labels - 1}, or {Choice(ORDERS)}."
            )


def resolve_order(
    order: Order | ArrayLike,
    Y: NDArray[np.floating],
    sample_weight: NDArray[np.floating] | None,
    random: np.random.RandomState,
) -> NDArray[np.intp]:
    """Check an order and convert it to label indices; NaN in Y is unknown.

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
    """Derive a fixed label order from a fitted dynamic chain.

    Labels are sorted by the mean, over the rows of X, of the chain step that propagates them. For a
    label that is not propagated, the number of steps plus one counts. Ties go to the lowest label.

    Parameters
    ----------
    dynamic_chain : DynamicChainClassifier
        A fitted chain.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The rows; for a fair baseline, the training rows of the chain.

    Returns
    -------
    int array of shape (n_labels,)
        Indices of the labels, for the `order` of :class:`ClassifierChain`.

    Raises
    ------
    NotFittedError
        If the chain is not fitted.
    ValueError
        If X is not valid input of the chain.

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
    """Train a chain of copies of `model`, which treats :data:`MISSING` as missing.

    NaN is a missing value in X and an unknown label in Y. The chain predicts from the result of
    :func:`replace_missing`.
    """
    chain = multioutput.ClassifierChain(model, order=order)
    X_filled = replace_missing(X)
    Y_filled = np.where(np.isnan(Y), np.float32(MISSING), Y)
    if sample_weight is None:
        return chain.fit(X_filled, Y_filled)
    # scikit-learn's chain passes weights to its models only by metadata routing.
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
        return chain.fit(X_filled, Y_filled, sample_weight=sample_weight)


def replace_missing(X: Features) -> Features:
    """Return a copy of X with :data:`MISSING` instead of NaN.

    Examples
    --------
    >>> replace_missing(np.array([[1, np.nan]], dtype=np.float32)) == MISSING
    array([[False,  True]])
    """
    if isinstance(X, np.ndarray):
        return np.where(np.isnan(X), np.float32(MISSING), X)
    filled: Any = X.copy()
    filled.data[np.isnan(filled.data)] = MISSING
    return filled
