"""Label trees: LaCovaC, with settings for LaCova and ML-C4.5."""

from xdcc.comparators.lacovac.classifier import LaCovaCClassifier
from xdcc.comparators.lacovac.clustering import (
    cluster_labels,
    correlation_threshold,
    label_correlations,
)
from xdcc.comparators.lacovac.export import export_graphviz, export_text, plot_tree
from xdcc.comparators.lacovac.forest import LaCovaCForestClassifier
from xdcc.comparators.lacovac.tree import LabelTrees, LeafLabelsets

__all__ = [
    "LaCovaCClassifier",
    "LaCovaCForestClassifier",
    "LabelTrees",
    "LeafLabelsets",
    "cluster_labels",
    "correlation_threshold",
    "export_graphviz",
    "export_text",
    "label_correlations",
    "plot_tree",
]
