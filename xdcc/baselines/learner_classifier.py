"""``LearnerClassifier``: what the methods on scikit-learn classifiers share."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state, get_tags

from xdcc.baselines.learner import seeded
from xdcc.baselines.prediction import ProbaMixin
from xdcc.validation import FitData, check_all_known, check_fit_data


class LearnerClassifier(ProbaMixin, BaseEstimator):
    """A method on copies of a base learner, which needs every label of every row."""

    def __init__(self, *, estimator: Any, random_state: int | np.random.RandomState | None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    @staticmethod
    @abstractmethod
    def _default_learner() -> Any:
        """Make the base learner that `estimator=None` stands for."""

    def __sklearn_tags__(self) -> Tags:
        """Tags: what the base learner takes."""
        tags = super().__sklearn_tags__()
        learner_tags = get_tags(self._unseeded_learner())
        tags.input_tags.allow_nan = learner_tags.input_tags.allow_nan
        tags.input_tags.sparse = learner_tags.input_tags.sparse
        return tags

    def _unseeded_learner(self) -> Any:
        return self._default_learner() if self.estimator is None else self.estimator

    def _begin_fit(
        self, X: Any, Y: Any, sample_weight: Any
    ) -> tuple[FitData, Any, np.random.RandomState]:
        """Check the data, leave out rows of weight 0, and make the base learner.

        It is fitted in double precision, as most solvers of scikit-learn are meant to be.
        """
        random = check_random_state(self.random_state)
        learner = seeded(self._unseeded_learner(), random)
        data = check_fit_data(self, X, Y, sample_weight)
        check_all_known(self, data.Y, f"models of {type(self).__name__}")
        if data.sample_weight is not None and not data.sample_weight.all():
            counts = data.sample_weight > 0
            data = data._replace(
                X=data.X[counts], Y=data.Y[counts], sample_weight=data.sample_weight[counts]
            )
        return data._replace(X=data.X.astype(np.float64)), learner, random
