"""Base learners: which scikit-learn classifiers the baselines can be built on, and how.

A base learner is a classifier with ``fit`` and ``predict_proba``, and with `sample_weight` in
``fit`` where weights are given. It is copied for every model; every parameter `random_state` of
the copy gets a seed drawn by the baseline, whatever it was, as in scikit-learn's ensembles.
It is fitted on X in double precision, as most solvers of scikit-learn are meant to be. Missing
values and sparse X are handed on to it: whether it takes them is its own affair, and in sparse X
what is not stored is 0 for scikit-learn's classifiers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter


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
        If `estimator` is no classifier with probabilities.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier()
    >>> seeded(tree, np.random.RandomState(0)).random_state is not None, tree.random_state
    (True, None)
    """
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict_proba")):
        raise ValueError(
            f"estimator={estimator!r}: it has to be a classifier with fit and predict_proba."
        )
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
