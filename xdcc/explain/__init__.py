"""Explanations of a trained chain or of boosters: what is decided when, and from what.

An :class:`~xdcc.chain.OrderFreeChainClassifier` is explained step by step, its features being the
margins that it starts from. A :class:`~xdcc.boosting.MultiLabelXGBClassifier`, or the mixture of
them in a :class:`~xdcc.MultiLabelClassifier`, is a chain of one round that decides all labels at
once and has no label features; only ``label_dependencies`` wants a chain, which may be the one that
a ``MultiLabelClassifier`` decides by.

Numbers: ``round_statistics``, ``feature_importance``, ``label_dependencies``, ``shap_values``.
Plots of them, which need Matplotlib: ``plot_rounds``, ``plot_order``, ``plot_dependencies``,
``plot_shap``.
"""

from xdcc.explain.importance import ShapValues, feature_importance, shap_values
from xdcc.explain.label_dependencies import label_dependencies
from xdcc.explain.plots import plot_dependencies, plot_order, plot_rounds, plot_shap
from xdcc.explain.round_statistics import RoundStatistics, round_statistics

__all__ = [
    "RoundStatistics",
    "ShapValues",
    "feature_importance",
    "label_dependencies",
    "plot_dependencies",
    "plot_order",
    "plot_rounds",
    "plot_shap",
    "round_statistics",
    "shap_values",
]
