"""Base learners: scikit-learn classifiers on which the baselines are built.

A base learner is a classifier with ``fit`` and ``predict_proba``, and with `sample_weight` in
``fit`` if weights are given. Each model is a copy of it, and each parameter `random_state` of a
copy is replaced by a random seed, as in scikit-learn's ensembles. X is in double precision, for
which most solvers of scikit-learn are designed. Missing values and sparse X are passed to the base
learner, which may reject them; scikit-learn's classifiers treat entries that a sparse X does not
store as 0. `LearnerClassifier` is the base class of methods that never use XGBoost.
"""

from abc import abstractmethod
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from xdcc.base.checks import check_all_known
from xdcc.base.domains import Classifier, Either, check_domain
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.fit_data import FitData
from xdcc.base.seeds import generator_from


def seeded(estimator: Any, random: np.random.RandomState) -> Any:
    """Copy a base learner with a random seed for each parameter `random_state`.

    Raises ValueError if `estimator` is not a classifier with `predict_proba`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier()
    >>> seeded(tree, np.random.RandomState(0)).random_state is not None, tree.random_state
    (True, None)
    """
    check_domain("estimator", estimator, Classifier())
    copy = clone(estimator)
    names = [
        name
        for name in sorted(copy.get_params())
        if name == "random_state" or name.endswith("__random_state")
    ]
    return copy.set_params(**{name: random.randint(np.iinfo(np.int32).max) for name in names})


def fit_learner(learner: Any, X: Any, y: NDArray[Any], sample_weight: NDArray[Any] | None) -> Any:
    """Fit a base learner; raise ValueError if it does not support the weights that are given."""
    if sample_weight is None:
        return learner.fit(X, y)
    if not has_fit_parameter(learner, "sample_weight"):
        raise ValueError(
            f"sample_weight is given, but {type(learner).__name__}.fit does not support it."
        )
    return learner.fit(X, y, sample_weight=sample_weight)


@declares_parameters
class LearnerClassifier(MultiLabelEstimator):
    """Base class of methods that train copies of a base learner; all labels must be known."""

    _entries = MappingProxyType(
        {
            "missing_values": """
                Missing values in X are passed to the base learner, which may reject them. Entries
                that a sparse X does not store are 0.
                """,
        }
    )
    _domains = MappingProxyType({"estimator": Either(Classifier(), None)})

    estimator: Any = None
    random_state: int | np.random.RandomState | None = None

    @staticmethod
    @abstractmethod
    def _default_learner() -> Any:
        """Return the base learner for ``estimator=None``."""

    @abstractmethod
    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        """Train on checked data: all labels are known, weights positive, X in double precision."""

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train the models.

        {takes_known_data}

        {returns_self}

        Raises
        ------
        ValueError
            If a parameter is outside its domain, the base learner has no `predict_proba` or rejects
            the data, the data are not as described, or a label is unknown (NaN).
        """
        data = self._begin_fit(X, Y, sample_weight)
        random = generator_from(self.random_state)
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
        """Tags: missing values and sparse X as for the base learner."""
        tags = super().__sklearn_tags__()
        learner = self._unseeded_learner()
        if Classifier().accepts(learner):  # otherwise `fit` raises an error
            learner_tags = get_tags(learner)
            tags.input_tags.allow_nan = learner_tags.input_tags.allow_nan
            tags.input_tags.sparse = learner_tags.input_tags.sparse
        return tags

    def _unseeded_learner(self) -> Any:
        return self._default_learner() if self.estimator is None else self.estimator
