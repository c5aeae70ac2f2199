"""A classifier of another package, that the user names, as a family of one candidate."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdcc.automatic.family import Candidate, MemberFamily
from xdcc.automatic.other_classifier import OtherClassifier
from xdcc.automatic.shape import Shape
from xdcc.base.fit_data import FitData

_PER_ENTRY = 1e-6
"""Seconds for an entry of X or Y in the training of a fold: a guess, as little is known about the
classifier. It does not depend on the machine."""


class OtherModels(MemberFamily):
    """One classifier, which is tried in any case.

    Parameters
    ----------
    name : str
        Name of the member.
    model : classifier
        With `predict_proba`, not fitted.
    """

    def __init__(self, name: str, model: Any) -> None:
        self.name, self.noun, self._model = name, f"model of {name!r}", model
        self._per_row = 0.0

    def begin(self, data: FitData, shape: Shape, longest: float) -> None:
        """Try the classifier on some rows, and take the time if it is limited."""
        (candidate,) = self.candidates(shape, np.inf)
        estimator = candidate.estimator(0, 1)
        if isinstance(estimator, OtherClassifier):
            self._per_row = estimator.try_out(data, is_timed=longest < np.inf)

    def candidates(self, shape: Shape, longest: float) -> Sequence[Candidate]:
        """List the classifier; with a time budget, by the time that some rows took."""
        seconds = _PER_ENTRY * shape.n_folds * (shape.n_entries + shape.n_rows * shape.n_labels)
        is_measured = longest < np.inf and self._per_row > 0
        if is_measured:
            seconds = self._per_row * shape.n_folds * shape.n_rows
        return [Candidate(self.name, self._model, seconds, is_measured=is_measured)]
