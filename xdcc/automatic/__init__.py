"""The way in for who wants the best prediction: :class:`MultiLabelClassifier`.

`candidates.py` says which boosters are tried, `search.py` trains them on the same folds,
`members.py` mixes them and has an order-free chain learn how labels depend, and
`classifier.py` is the estimator.
"""

from xdcc.automatic.classifier import MultiLabelClassifier

__all__ = ["MultiLabelClassifier"]
