"""Label trees: LaCovaC, with LaCova and ML-C4.5 as settings of it."""

from xdcc.lacovac.classifier import LaCovaCClassifier
from xdcc.lacovac.clustering import cluster_labels, correlation_threshold, label_correlations

__all__ = [
    "LaCovaCClassifier",
    "cluster_labels",
    "correlation_threshold",
    "label_correlations",
]
