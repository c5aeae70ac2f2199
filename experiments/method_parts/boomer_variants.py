"""The four variants of BOOMER that its paper compares: two losses, two kinds of heads.

The rules of a model are added one after the other, so one training gives the predictions for every
smaller number of rules: `staged_labels`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.boomer import BoomerClassifier
from xdcc.boomer.classifier import LossName
from xdcc.data import MultiLabelDataset


class Variant(NamedTuple):
    """Loss and heads of a variant, as parameters of `BoomerClassifier`."""

    loss: LossName
    head: Literal["single", "complete"]


VARIANTS = {
    "l.w.-log single": Variant("logistic_label_wise", "single"),
    "l.w.-log multi": Variant("logistic_label_wise", "complete"),
    "ex.w.-log single": Variant("logistic_example_wise", "single"),
    "ex.w.-log multi": Variant("logistic_example_wise", "complete"),
}
"""By their names in the paper's Table 1."""


def fit(variant: str, data: MultiLabelDataset, **parameters: Any) -> BoomerClassifier:
    """Train a variant on a data set; `parameters` are those of the classifier."""
    loss, head = VARIANTS[variant]
    nominal = [t == "nominal" for t in data.feature_types]
    model = BoomerClassifier(
        loss=loss,
        head=head,
        categorical_features=nominal if any(nominal) else None,
        **parameters,
    )
    return model.fit(data.X, data.Y)


def staged_labels(
    model: BoomerClassifier, X: Any, n_rules: Sequence[int]
) -> Iterator[NDArray[np.int64]]:
    """Predict with the first so many rules, for each of some ascending numbers.

    A model that could not find as many rules predicts with those that it has.
    """
    counts = [min(k, len(model.rules_)) for k in n_rules]
    for scores in model.staged_decision_function(X, counts):
        yield model.labels_of(scores)
