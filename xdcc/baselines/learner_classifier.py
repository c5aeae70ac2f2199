"""``LearnerClassifier``: what the methods on scikit-learn classifiers share."""

from abc import abstractmethod
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags, check_random_state, get_tags

from xdcc.base.domains import Anything, Seed
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.fit_data import FitData, check_all_known
from xdcc.baselines.learner import seeded


@declares_parameters
class LearnerClassifier(MultiLabelEstimator):
    """A method on copies of a base learner, which needs every label of every row."""

    _domains = MappingProxyType({"estimator": Anything(), "random_state": Seed()})

    estimator: Any = None
    random_state: int | np.random.RandomState | None = None

    @staticmethod
    @abstractmethod
    def _default_learner() -> Any:
        """Make the base learner that `estimator=None` stands for."""

    @abstractmethod
    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        """Train on checked data.

        Parameters
        ----------
        data : FitData
            All labels are known, weights are positive, X is in double precision, as most solvers
            of scikit-learn are meant to be fitted.
        learner : classifier
            The base learner with a seed of its own.
        random : RandomState
            For what else is drawn.
        """

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train the models.

        Parameters
        ----------
        {X}
        {known_Y}
        {sample_weight}

        {returns_self}

        Raises
        ------
        ValueError
            If a parameter is outside its domain, the base learner has no probabilities or refuses
            the data, the data are not as described, or a label is unknown (NaN).
        """
        data = self._begin_fit(X, Y, sample_weight)
        random = check_random_state(self.random_state)
        learner = seeded(self._unseeded_learner(), random)
        check_all_known(self, data.Y, f"models of {type(self).__name__}")
        if data.sample_weight is not None and not data.sample_weight.all():
            counts = data.sample_weight > 0
            data = data._replace(
                X=data.X[counts], Y=data.Y[counts], sample_weight=data.sample_weight[counts]
            )
        self._learn(data._replace(X=data.X.astype(np.float64)), learner, random)
        return self

    def __sklearn_tags__(self) -> Tags:
        """Tags: what the base learner takes."""
        tags = super().__sklearn_tags__()
        learner_tags = get_tags(self._unseeded_learner())
        tags.input_tags.allow_nan = learner_tags.input_tags.allow_nan
        tags.input_tags.sparse = learner_tags.input_tags.sparse
        return tags

    def _unseeded_learner(self) -> Any:
        return self._default_learner() if self.estimator is None else self.estimator
