"""Base learners: which scikit-learn classifiers the baselines can be built on, and how.

A base learner is a classifier with ``fit`` and ``predict_proba``, and with `sample_weight` in
``fit`` where weights are given. It is copied for every model; every parameter `random_state` of
the copy gets a seed drawn by the baseline, whatever it was, as in scikit-learn's ensembles.
It is fitted on X in double precision, as most solvers of scikit-learn are meant to be. Missing
values and sparse X are handed on to it: whether it takes them is its own affair, and in sparse X
what is not stored is 0 for scikit-learn's classifiers. `LearnerClassifier` is what the methods on
such learners alone, without XGBoost, share.
"""

from abc import abstractmethod
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import has_fit_parameter

from xdcc.base.checks import check_all_known
from xdcc.base.domains import Classifier, Either, Seed, check_domain
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.fit_data import FitData


def seeded(estimator: Any, random: np.random.RandomState) -> Any:
    """Copy a base learner with new seeds.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Its copy, not itself, is changed.
    random : RandomState
        Draws the seeds, one for each parameter `random_state` in the order of the names.

    Returns
    -------
    scikit-learn classifier
        Not fitted.

    Raises
    ------
    ValueError
        If `estimator` is not a classifier with probabilities.

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
    """Fit a base learner, with weights if there are some.

    Parameters
    ----------
    learner : scikit-learn classifier
        Is fitted.
    X : array or sparse matrix of shape (n_samples, n_features)
        Features.
    y : int array of shape (n_samples,)
        Classes.
    sample_weight : array of shape (n_samples,) or None
        Weights of the rows.

    Returns
    -------
    scikit-learn classifier
        The learner.

    Raises
    ------
    ValueError
        If there are weights and the learner takes none.
    """
    if sample_weight is None:
        return learner.fit(X, y)
    if not has_fit_parameter(learner, "sample_weight"):
        raise ValueError(
            f"sample_weight is given, but {type(learner).__name__} takes no weights in fit."
        )
    return learner.fit(X, y, sample_weight=sample_weight)


@declares_parameters
class LearnerClassifier(MultiLabelEstimator):
    """A method on copies of a base learner, which needs every label of every row."""

    _domains = MappingProxyType({"estimator": Either(Classifier(), None), "random_state": Seed()})

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
        learner = self._unseeded_learner()
        if Classifier().accepts(learner):  # else `fit` says what is wrong
            learner_tags = get_tags(learner)
            tags.input_tags.allow_nan = learner_tags.input_tags.allow_nan
            tags.input_tags.sparse = learner_tags.input_tags.sparse
        return tags

    def _unseeded_learner(self) -> Any:
        return self._default_learner() if self.estimator is None else self.estimator
