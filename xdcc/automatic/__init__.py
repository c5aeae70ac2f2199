"""Start here if you want the best predictions: :class:`MultiLabelClassifier`.

Families of members (:class:`MemberFamily`) list what is tried: boosters, extra trees, linear models
and those of the user. `search.py` trains it on the same folds, `mixture.py` mixes what helps,
`joint_labelset.py` trains an order-free chain on how labels depend on each other, and
`classifier.py` is the estimator.
"""

from xdcc.automatic.classifier import MultiLabelClassifier
from xdcc.automatic.family import Candidate, MemberFamily
from xdcc.automatic.shape import Shape

__all__ = ["Candidate", "MemberFamily", "MultiLabelClassifier", "Shape"]
