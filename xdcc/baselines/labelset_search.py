"""``LabelsetSearch``: what the probabilistic chain and the ensemble of them share in inference."""

from abc import abstractmethod
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from xdcc.base.domains import Choice, Either, Number
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import check_all_known, check_labels_as_in_fit
from xdcc.baselines.learner_classifier import LearnerClassifier

Loss = Literal["subset", "hamming"]

MAX_EXACT_LABELS = 15
"""Most labels of which all 2**n_labels labelsets are gone through."""


@declares_parameters
class LabelsetSearch(LearnerClassifier):
    """Arguments `beam_width` and `loss`, and the probability of given labelsets."""

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
        """Labelsets to keep; all, if there is no limit."""
        if self.beam_width is not None:
            return self.beam_width
        if self.n_labels_ > MAX_EXACT_LABELS:
            raise ValueError(
                f"beam_width=None goes through all 2**{self.n_labels_} labelsets, which is "
                f"possible for {MAX_EXACT_LABELS} labels at most; set a beam_width, 16 for example."
            )
        return 2**self.n_labels_

    def log_prob(self, X: Any, Y: Any) -> NDArray[np.float64]:
        """Logarithm of P(y | x), exact whatever the beam.

        Parameters
        ----------
        {X}
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            A labelset for each row.

        Returns
        -------
        float array of shape (n_samples,)
            Minus infinity where the labelset is impossible.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X or Y is not as described.
        """
        features = self._check_X(X)
        labels = check_labels_as_in_fit(self, Y)
        check_consistent_length(features, labels)
        check_all_known(self, labels, "probabilities of labelsets")
        return self._labelset_log_proba(features, labels.astype(np.int64))

    @abstractmethod
    def _labelset_log_proba(self, X: Features, Y: NDArray[np.integer]) -> NDArray[np.float64]:
        """Log-probability of a labelset for each row."""

    @abstractmethod
    def _mode(self, X: Features) -> NDArray[np.int64]:
        """Predict the most probable labelset that is found."""

    def _labels(self, X: Features) -> NDArray[np.int64]:
        return super()._labels(X) if self.loss == "hamming" else self._mode(X)
