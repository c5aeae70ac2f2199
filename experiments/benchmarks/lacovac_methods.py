"""The methods of the LaCovaC paper's tables, as it ran them, and the readings that were tried.

A :class:`Method` takes a part for training and one for testing and returns probabilities and
labels. The paper's J48 is `experiments.method_parts.j48_tree.J48TreeClassifier` here, not pruned
and with Laplace estimates. MEKA's chains and label powersets hand on 0 and 1, not probabilities
(`certain`), which is what their published log-losses say.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from experiments.benchmarks.lacovac_data import dense, two_values
from experiments.method_parts.j48_tree import J48TreeClassifier
from xdcc.baselines import HOMER, LPBR, BinaryRelevance, ClassifierChain, LabelPowerset
from xdcc.data import MultiLabelDataset
from xdcc.lacovac import LaCovaCClassifier, LaCovaCForestClassifier

N_TREES = 50
"""Trees of the forests."""


class Prediction(NamedTuple):
    """What a method says of the test part.

    Attributes
    ----------
    proba : float array of shape (n_samples, n_labels)
        What PCut is applied to.
    labels : int array of shape (n_samples, n_labels)
        Predicted without a threshold.
    smoothed : float array of shape (n_samples, n_labels)
        What log-loss is computed of.
    """

    proba: NDArray[np.float64]
    labels: NDArray[np.int64]
    smoothed: NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """A way to train and predict.

    Attributes
    ----------
    make : callable
        Makes the estimator.
    cut : bool
        Whether features are cut at their means first.
    certain : bool
        Whether predicted labels take the place of probabilities.
    smooth : {"log_loss", "all"} or None
        Where a leaf's probability of a label is (n_1 + 1) / (n + 2), Laplace's estimate, instead of
        n_1 / n: in log-loss, everywhere, or nowhere; for LaCovaC's trees.
    threshold : bool
        Whether PCut chooses the labels.
    ties : bool
        Whether PCut predicts all entries that share the probability at which the density is
        reached, which may be many more than wanted, instead of coming nearest to the density.
    nominal : bool
        Whether the estimator is told which features are nominal.
    """

    make: Callable[[], Any]
    cut: bool = True
    certain: bool = False
    smooth: Literal["log_loss", "all"] | None = None
    threshold: bool = True
    ties: bool = False
    nominal: bool = False

    def predict(self, train: MultiLabelDataset, test: MultiLabelDataset) -> Prediction:
        """Train on one part and predict the other."""
        train_X, test_X = two_values(train, test) if self.cut else (dense(train), dense(test))
        model = self.make()
        if isinstance(model, ClassifierChain):
            model.set_params(order=np.arange(train.n_labels))  # of the columns, as in MEKA
        if self.nominal:
            mask = [kind == "nominal" for kind in train.feature_types]
            model.set_params(categorical_features=mask)
        model.fit(train_X, train.Y)
        labels = model.predict(test_X)
        if self.certain:
            return Prediction(labels.astype(np.float64), labels, labels.astype(np.float64))
        proba = smoothed = model.predict_proba(test_X)
        if self.smooth is not None:
            smoothed = model.set_params(smoothing=1).predict_proba(test_X)
        return Prediction(smoothed if self.smooth == "all" else proba, labels, smoothed)


def label_tree(**params: Any) -> Callable[[], LaCovaCClassifier]:
    """Make a maker of trees whose leaves may be small, as Algorithm 1 has them."""
    small = {"min_samples_split": 6, "min_samples_leaf": 1, "n_jobs": 1}
    return lambda: LaCovaCClassifier(**(small | params))


def probability_tree() -> J48TreeClassifier:
    """Make a tree with Laplace estimates that is not pruned."""
    return J48TreeClassifier(confidence=None, laplace=True)


PAPER: dict[str, Method] = {
    "LaCovaC": Method(label_tree(), smooth="log_loss"),
    "LaCova": Method(label_tree(clustering="all_or_none"), smooth="log_loss"),
    "ML-C4.5": Method(label_tree(criterion="gain_ratio", clustering=None), smooth="log_loss"),
    "BR": Method(lambda: BinaryRelevance(estimator=probability_tree())),
    "LP": Method(lambda: LabelPowerset(estimator=probability_tree(), random_state=0), certain=True),
    "CC": Method(lambda: ClassifierChain(estimator=probability_tree()), certain=True),
    "Homer": Method(lambda: HOMER(estimator=probability_tree(), random_state=0)),
    "LPBR": Method(lambda: LPBR(estimator=probability_tree(), random_state=0)),
}
"""By their names in the published tables."""

READINGS: dict[str, Method] = {
    "leaves of 5": Method(label_tree(min_samples_leaf=5), smooth="log_loss"),
    "all thresholds": Method(label_tree(), cut=False, smooth="log_loss", nominal=True),
    "smoothed for PCut": Method(label_tree(), smooth="all"),
    "leaf labelsets": Method(label_tree(), smooth="log_loss", threshold=False),
    "threshold of all rows": Method(label_tree(threshold_size="train"), smooth="log_loss"),
    "our defaults": Method(lambda: LaCovaCClassifier(n_jobs=1), cut=False, nominal=True),
}
"""LaCovaC with one thing changed, and with the defaults of our estimator."""

LEAVES: dict[str, Method] = {
    "LaCova, leaves of 5": Method(
        label_tree(clustering="all_or_none", min_samples_leaf=5), smooth="log_loss"
    ),
    "ML-C4.5, leaves of 5": Method(
        label_tree(criterion="gain_ratio", clustering=None, min_samples_leaf=5), smooth="log_loss"
    ),
}
"""The other trees with the leaves that section 4.1 of the paper names."""

PRUNED: dict[str, Method] = {
    "BR, pruned": Method(lambda: BinaryRelevance(estimator=J48TreeClassifier())),
    "LP, pruned": Method(
        lambda: LabelPowerset(estimator=J48TreeClassifier(), random_state=0), certain=True
    ),
    "CC, pruned": Method(lambda: ClassifierChain(estimator=J48TreeClassifier()), certain=True),
}
"""Baselines with J48's default options."""

TIES: dict[str, Method] = {
    f"{name}, ties": replace(
        PAPER[name], ties=True, smooth=None if PAPER[name].smooth is None else "all"
    )
    for name in ("LaCovaC", "LaCova", "ML-C4.5", "BR", "Homer")
}
"""Methods with probabilities, with a PCut that lets ties pass; trees then need smoothing."""

FORESTS: dict[str, Method] = {
    "LaCovaC forest": Method(
        lambda: LaCovaCForestClassifier(n_estimators=N_TREES, random_state=0, n_jobs=1),
        cut=False,
        nominal=True,
        threshold=False,
    ),
    "BR of random forests": Method(
        lambda: BinaryRelevance(estimator=RandomForestClassifier(N_TREES, n_jobs=1)),
        cut=False,
        threshold=False,
    ),
}
"""Equal numbers of trees, predictions without a threshold."""
