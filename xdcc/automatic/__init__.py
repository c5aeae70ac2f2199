"""Start here if you want the best predictions: :class:`MultiLabelClassifier`.

`candidates.py` lists the boosters that are tried, `search.py` trains them on the same folds,
`members.py` mixes them and trains an order-free chain on how labels depend on each other, and
`classifier.py` is the estimator.
"""

from xdcc.automatic.classifier import MultiLabelClassifier

__all__ = ["MultiLabelClassifier"]
