"""``LabelsetSearch``: what the probabilistic chain and the ensemble of them share in inference."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.baselines.learner_classifier import LearnerClassifier
from xdcc.boosting.domains import Choice, Number, check_domain
from xdcc.validation import check_all_known, check_features, check_labels

Loss = Literal["subset", "hamming"]

MAX_EXACT_LABELS = 15
"""Most labels of which all 2**n_labels labelsets are gone through."""


class LabelsetSearch(LearnerClassifier):
    """Arguments `beam_width` and `loss`, and the probability of given labelsets."""

    beam_width: int | None
    loss: Loss

    def _check_search(self) -> None:
        check_domain("loss", self.loss, Choice(get_args(Loss)))
        if self.beam_width is not None:
            check_domain("beam_width", self.beam_width, Number(low=1, whole=True))

    def _width(self) -> int:
        """Labelsets to keep; all, if there is no limit."""
        self._check_search()
        if self.beam_width is not None:
            return self.beam_width
        if self.n_labels_ > MAX_EXACT_LABELS:
            raise ValueError(
                f"beam_width=None goes through all 2**{self.n_labels_} labelsets, which is "
                f"possible for {MAX_EXACT_LABELS} labels at most; set a beam_width, 16 for example."
            )
        return 2**self.n_labels_

    def _check_labelsets(self, X: Any, Y: Any) -> tuple[Any, NDArray[np.int64]]:
        check_is_fitted(self)
        features = check_features(self, X)
        labels, _ = check_labels(self, Y)
        if labels.shape != (features.shape[0], self.n_labels_):
            raise ValueError(
                f"Y has shape {labels.shape}; it has to be ({features.shape[0]}, "
                f"{self.n_labels_}), a labelset for each row of X."
            )
        check_all_known(self, labels, "probabilities of labelsets")
        return features, labels.astype(np.int64)
