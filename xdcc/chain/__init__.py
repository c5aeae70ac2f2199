"""Classifier chains that choose the label order per row while predicting: XDCC and order-free."""

from xdcc.chain.classifier import DynamicChainClassifier
from xdcc.chain.order_free import OrderFreeChainClassifier
from xdcc.chain.propagation import ChainOrder

__all__ = ["ChainOrder", "DynamicChainClassifier", "OrderFreeChainClassifier"]
