"""Dynamic classifier chains (XDCC): the label order is chosen per row while predicting."""

from xdcc.chain.classifier import DynamicChainClassifier
from xdcc.chain.order import ChainOrder

__all__ = ["ChainOrder", "DynamicChainClassifier"]
