"""Inference in probabilistic classifier chains.

P(y | x) is the product over the chain of P(y_k | x, y_1 ... y_{k-1}) (Dembczyński et al., 2010,
equation 5). :func:`beam_search` extends labelsets label by label and keeps the most probable ones;
with a beam of 2**n_labels, it returns the whole distribution. The columns of labelsets are in the
order of Y, not of the chain. `LabelsetSearch` is the base class of the probabilistic chain and of
the ensemble of such chains.
"""

from abc import abstractmethod
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from sklearn.multioutput import ClassifierChain

from xdcc.base.checks import check_all_known
from xdcc.base.domains import Choice, Either, Number
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.label_rows import row_blocks
from xdcc.base.labels import check_labels_as_in_fit
from xdcc.comparators.baselines.fixed_chain import replace_missing
from xdcc.comparators.baselines.learner import LearnerClassifier

Loss = Literal["subset", "hamming"]

MAX_EXACT_LABELS = 15
"""Maximum number of labels for an exhaustive search over 2**n_labels labelsets."""


def beam_search(
    chain: ClassifierChain, X: Features, beam_width: int
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Find probable labelsets with a chain of `fixed_chain.fit_chain`.

    The search keeps `beam_width` labelsets after each label. Returns labelsets (n_samples, n_found,
    n_labels) by decreasing probability, where ``n_found = min(beam_width, 2**n_labels)``, and exact
    values of log P(y | x) (n_samples, n_found).

    Examples
    --------
    >>> from xdcc.comparators.baselines import ProbabilisticClassifierChain
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    >>> chain = ProbabilisticClassifierChain(order=[0, 1]).fit(X, Y).model_
    >>> labelsets, log_proba = beam_search(chain, X[3:], beam_width=2)
    >>> labelsets[0], np.exp(log_proba).round(2)
    (array([[1, 1],
           [0, 1]], dtype=int8), array([[0.75, 0.18]]))
    """
    n_labels = len(chain.estimators_)
    n_found = min(beam_width, 2**n_labels)
    labelsets = np.empty((X.shape[0], n_found, n_labels), dtype=np.int8)
    log_proba = np.empty((X.shape[0], n_found))
    filled = replace_missing(X)
    for rows in row_blocks((X.shape[0], n_found * (X.shape[1] + n_labels))):
        found, log_proba[rows] = _search(chain, filled[rows], beam_width)
        labelsets[rows][..., chain.order_] = found
    return labelsets, log_proba


def _search(
    chain: ClassifierChain, X: Any, beam_width: int
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Search in a block of rows; labels are in the order of the chain."""
    n_rows = X.shape[0]
    begun = np.zeros((n_rows, 1, 0), dtype=np.int8)
    log_proba = np.zeros((n_rows, 1))
    for model in chain.estimators_:
        width = begun.shape[1]
        rows = np.repeat(np.arange(n_rows), width)
        joined = _join(X[rows], begun.reshape(len(rows), -1))
        positive = model.predict_proba(joined)[:, 1].astype(np.float64).reshape(n_rows, width)
        with np.errstate(divide="ignore"):
            log_proba = np.hstack((log_proba + np.log1p(-positive), log_proba + np.log(positive)))
        value = np.repeat(np.array([0, 1], dtype=np.int8), width)
        begun = np.concatenate(
            (np.tile(begun, (1, 2, 1)), np.broadcast_to(value, (n_rows, 2 * width))[..., None]),
            axis=2,
        )
        best = np.argsort(-log_proba, axis=1, kind="stable")[:, :beam_width]
        log_proba = np.take_along_axis(log_proba, best, axis=1)
        begun = np.take_along_axis(begun, best[..., np.newaxis], axis=1)
    return begun, log_proba


def labelset_log_proba(
    chain: ClassifierChain, X: Features, Y: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Compute log P(y | x) of a labelset for each row, (n_samples,).

    Examples
    --------
    >>> from xdcc.comparators.baselines import ProbabilisticClassifierChain
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    >>> chain = ProbabilisticClassifierChain(order=[0, 1]).fit(X, Y).model_
    >>> np.exp(labelset_log_proba(chain, X, Y)).round(2)
    array([0.4 , 0.43, 0.53, 0.75])
    """
    filled = replace_missing(X)
    in_order = Y[:, chain.order_]
    log_proba = np.zeros(X.shape[0])
    for k, model in enumerate(chain.estimators_):
        positive = model.predict_proba(_join(filled, in_order[:, :k]))[:, 1].astype(np.float64)
        with np.errstate(divide="ignore"):
            log_proba += np.where(in_order[:, k] == 1, np.log(positive), np.log1p(-positive))
    return log_proba


def marginals(labelsets: NDArray[np.int8], log_proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute label probabilities (n_samples, n_labels) from labelsets as in `beam_search`.

    The probabilities of the labelsets of a row are normalised to sum to 1.

    Examples
    --------
    >>> labelsets = np.array([[[1, 1], [1, 0]]], dtype=np.int8)
    >>> marginals(labelsets, np.log([[0.6, 0.2]])).round(2)
    array([[1.  , 0.75]])
    """
    share = special.softmax(log_proba, axis=1)
    # Because of rounding, sums can exceed 1.
    return np.minimum(np.einsum("rf,rfl->rl", share, labelsets), 1)


def _join(X: Any, labels: NDArray[np.integer]) -> Any:
    if sparse.issparse(X):
        return sparse.hstack((X, sparse.csr_matrix(labels, dtype=X.dtype)), format="csr")
    return np.hstack((X, labels.astype(X.dtype)))


@declares_parameters
class LabelsetSearch(LearnerClassifier):
    """Base class with the parameters `beam_width` and `loss`, and with `log_prob`."""

    _domains = MappingProxyType(
        {
            **LearnerClassifier._domains,
            "beam_width": Either(Number(low=1, whole=True), None),
            "loss": Choice(get_args(Loss)),
        }
    )

    beam_width: int | None = None
    loss: Loss = "subset"

    def _width(self) -> int:
        """Return the width of the beam; without a limit, the number of all labelsets."""
        if self.beam_width is not None:
            return self.beam_width
        if self.n_labels_ > MAX_EXACT_LABELS:
            raise ValueError(
                f"beam_width=None searches all 2**{self.n_labels_} labelsets, but supports at most "
                f"{MAX_EXACT_LABELS} labels; set beam_width to a number, for example 16."
            )
        return 2**self.n_labels_

    def log_prob(self, X: Any, Y: Any) -> NDArray[np.float64]:
        """Compute log P(y | x), which is exact for any beam width.

        Parameters
        ----------
        {X}
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            A labelset for each row.

        Returns
        -------
        float array of shape (n_samples,)
            Minus infinity for impossible labelsets.

        {raises_for_labels}
        """
        features = self._read_X(X)
        labels = check_labels_as_in_fit(self._output_form, features, Y)
        check_all_known(self, labels, "probabilities of labelsets")
        return self._labelset_log_proba(features, labels.astype(np.int64))

    @abstractmethod
    def _labelset_log_proba(self, X: Features, Y: NDArray[np.integer]) -> NDArray[np.float64]:
        """Compute the log-probability of a labelset for each row."""

    @abstractmethod
    def _mode(self, X: Features) -> NDArray[np.int64]:
        """Predict the most probable labelset that the search finds."""

    def _labels(self, X: Features) -> NDArray[np.int64]:
        return super()._labels(X) if self.loss == "hamming" else self._mode(X)
