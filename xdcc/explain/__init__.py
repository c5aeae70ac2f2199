"""Explanations of chains and boosters: order of the labels, importance, dependencies, SHAP values.

``round_statistics``, ``feature_importance``, ``label_dependencies`` and ``shap_values`` compute
numbers. ``plot_rounds``, ``plot_order``, ``plot_dependencies``, ``plot_shap`` and
``plot_importance`` draw them with Matplotlib.

Explanations have a round for each chain step. In an :class:`~xdcc.chain.OrderFreeChainClassifier`,
the features are the initial margins. A :class:`~xdcc.boosting.MultiLabelXGBClassifier`, and the
boosters in the mixture of a :class:`~xdcc.MultiLabelClassifier`, have one round that decides all
labels, without label features. ``shap_values`` explains all members of a mixture, and forests and
linear models by themselves. ``label_dependencies`` requires a chain, for example the one in the
decision rule of a ``MultiLabelClassifier``.

``drift`` and ``plot_drift`` compare rows that come later with earlier ones, for any estimator.
"""

from xdcc.explain.drift import Drift, drift, plot_drift
from xdcc.explain.importance import ShapValues, feature_importance, shap_values
from xdcc.explain.label_dependencies import label_dependencies
from xdcc.explain.plots import (
    plot_dependencies,
    plot_importance,
    plot_order,
    plot_rounds,
    plot_shap,
)
from xdcc.explain.round_statistics import RoundStatistics, round_statistics

__all__ = [
    "Drift",
    "RoundStatistics",
    "ShapValues",
    "drift",
    "feature_importance",
    "label_dependencies",
    "plot_dependencies",
    "plot_drift",
    "plot_importance",
    "plot_order",
    "plot_rounds",
    "plot_shap",
    "round_statistics",
    "shap_values",
]
