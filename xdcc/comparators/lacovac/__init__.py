"""Label trees: LaCovaC, with settings for LaCova and ML-C4.5."""

from xdcc.lacovac.classifier import LaCovaCClassifier
from xdcc.lacovac.clustering import cluster_labels, correlation_threshold, label_correlations
from xdcc.lacovac.export import export_graphviz, export_text, plot_tree
from xdcc.lacovac.forest import LaCovaCForestClassifier
from xdcc.lacovac.tree import LabelTrees, LeafLabelsets

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
