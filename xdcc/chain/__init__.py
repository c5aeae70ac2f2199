"""Classifier chains whose label order is chosen per row while predicting: XDCC, and order-free."""

from xdcc.chain.classifier import DynamicChainClassifier
from xdcc.chain.order import ChainOrder
from xdcc.chain.order_free import OrderFreeChainClassifier

__all__ = ["ChainOrder", "DynamicChainClassifier", "OrderFreeChainClassifier"]
