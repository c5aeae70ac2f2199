"""Start here if you want the best predictions: :class:`MultiLabelClassifier`.

Families of members (:class:`MemberFamily`) list what is tried: boosters, extra trees, linear models
and those of the user. `search.py` trains it on the same folds, `mixture.py` mixes what helps,
`joint_labelset.py` trains an order-free chain on how labels depend on each other, and
`classifier.py` is the estimator.
"""

from typing import TYPE_CHECKING

from xdcc.base.lazy_import import on_first_use

if TYPE_CHECKING:
    from xdcc.automatic.classifier import MultiLabelClassifier
    from xdcc.automatic.family import Candidate, MemberFamily
    from xdcc.automatic.shape import Shape
else:
    __getattr__ = on_first_use(
        __name__,
        Candidate="family",
        MemberFamily="family",
        MultiLabelClassifier="classifier",
        Shape="shape",
    )

__all__ = ["Candidate", "MemberFamily", "MultiLabelClassifier", "Shape"]
