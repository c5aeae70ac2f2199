"""Start here if you want the best predictions: :class:`MultiLabelClassifier`.

`candidates.py` lists what is tried, `search.py` trains it on the same folds, `mixture.py` mixes
what helps, `joint_labelset.py` trains an order-free chain on how labels depend on each other, and
`classifier.py` is the estimator.
"""

from typing import TYPE_CHECKING

from xdcc.base.lazy_import import on_first_use

if TYPE_CHECKING:
    from xdcc.automatic.classifier import MultiLabelClassifier
else:
    __getattr__ = on_first_use(__name__, MultiLabelClassifier="classifier")

__all__ = ["MultiLabelClassifier"]
