"""Classifier chains that choose the label order per row while predicting: XDCC and order-free."""

from typing import TYPE_CHECKING

from xdcc.base.lazy_import import on_first_use
from xdcc.chain.propagation import ChainOrder

if TYPE_CHECKING:
    from xdcc.chain.classifier import DynamicChainClassifier
    from xdcc.chain.order_free import OrderFreeChainClassifier
else:
    __getattr__ = on_first_use(
        __name__, DynamicChainClassifier="classifier", OrderFreeChainClassifier="order_free"
    )

__all__ = ["ChainOrder", "DynamicChainClassifier", "OrderFreeChainClassifier"]
