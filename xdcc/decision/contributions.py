"""SHAP values of the mean log-odds of classifiers, as :mod:`xdcc.decision.out_of_fold` has them."""

from collections.abc import Sequence
from typing import Any

from xdcc.base.contributions import Contributions
from xdcc.base.estimator import MultiLabelEstimator


def mean_contributions(estimators: Sequence[Any], X: Any) -> Contributions:
    """Explain the mean log-odds of classifiers.

    Parameters
    ----------
    estimators : sequence of classifiers
        Fitted, at least one.
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Features that they have checked.

    Returns
    -------
    Contributions

    Raises
    ------
    TypeError
        If one cannot be explained; the message names its class.
    """
    for model in estimators:
        if not isinstance(model, MultiLabelEstimator):
            raise TypeError(
                f"{type(model).__module__}.{type(model).__name__} cannot be explained by SHAP "
                "values: only boosters, forests and linear models of xdcc can."
            )
    return Contributions.mean([model._contributions(X) for model in estimators])
