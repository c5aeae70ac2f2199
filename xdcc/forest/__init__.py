"""Extra trees whose splits are searched on random projections of the labels."""

from xdcc.forest.classifier import SketchedExtraTreesClassifier

__all__ = ["SketchedExtraTreesClassifier"]
