"""HOMER: a tree of label groups, with a binary model for each group."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from xdcc.base.domains import Number
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.baselines.balanced_k_means import balanced_k_means
from xdcc.baselines.estimator_model import EstimatorModel
from xdcc.baselines.label_model import LabelModel
from xdcc.baselines.learner_classifier import LearnerClassifier


@dataclass(frozen=True)
class LabelGroup:
    """A node of the hierarchy.

    Attributes
    ----------
    labels : int array
        Indices of the labels in it.
    children : tuple of LabelGroup
        Its parts; none if it holds a single label.
    model : LabelModel or None
        Predicts whether an instance has one of the labels, given that it has one of the parent's;
        None for the root.
    """

    labels: NDArray[np.intp]
    children: tuple["LabelGroup", ...]
    model: LabelModel | None


@declares_parameters
class HOMER(LearnerClassifier):
    """Hierarchy of label groups (HOMER).

    The labels are divided by balanced k-means on their columns of Y, the parts again, down to
    single labels. A node's model is trained on the instances that have a label of its parent. A
    label is predicted if all models on the way to it say yes.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Base learner, with `predict_proba`; None is a decision tree.
    n_children : int, default=3
        Most children of a node.
    random_state : int, RandomState instance or None, default=None
        Seed of the clusters and the base learner.

    Attributes
    ----------
    root_ : LabelGroup
        The hierarchy.
    {fitted}

    Notes
    -----
    The probability of a label is the product of the probabilities on the way to it, so `predict`
    need not be where it is at least 0.5. Clusters are found by linear assignment
    (:func:`xdcc.baselines.balanced_k_means.balanced_k_means`). Missing values in X are the base
    learner's affair; in sparse X what is not stored is 0.

    References
    ----------
    G. Tsoumakas, I. Katakis, I. Vlahavas: Effective and efficient multilabel classification in
    domains with large number of labels. MMD workshop at ECML/PKDD 2008.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=5, random_state=0)
    >>> model = xdcc.HOMER(n_children=2, random_state=0).fit(data.X, data.Y)
    >>> [group.labels.tolist() for group in model.root_.children]
    [[0, 3, 4], [1, 2]]
    >>> model.predict(data.X[:2])
    array([[0, 0, 1, 1, 1],
           [1, 1, 1, 0, 1]])
    """

    _domains = MappingProxyType(
        {**LearnerClassifier._domains, "n_children": Number(low=2, whole=True)}
    )

    n_children: int = 3

    @staticmethod
    def _default_learner() -> Any:
        return DecisionTreeClassifier()

    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        self.root_ = self._group(
            data, EstimatorModel(learner), random, np.arange(self.n_labels_), model=None
        )

    def _group(
        self,
        data: FitData,
        untrained: LabelModel,
        random: np.random.RandomState,
        labels: NDArray[np.intp],
        model: LabelModel | None,
    ) -> LabelGroup:
        """Train the parts of a group; the data are the instances that have a label of it."""
        if len(labels) == 1 and model is not None:
            return LabelGroup(labels, (), model)
        n_parts = min(self.n_children, len(labels))
        part_of = balanced_k_means(data.Y[:, labels].T, n_parts, random)
        children = []
        for number in range(n_parts):
            part = labels[part_of == number]
            present = data.Y[:, part].any(axis=1)
            weight = data.sample_weight
            part_model = clone(untrained)
            part_model.fit(data.X, present.astype(np.int64), weight)
            part_data = data._replace(
                X=data.X[present],
                Y=data.Y[present],
                sample_weight=None if weight is None else weight[present],
            )
            children.append(self._group(part_data, untrained, random, part, part_model))
        return LabelGroup(labels, tuple(children), model)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        proba = np.ones((X.shape[0], self.n_labels_))
        for group, positive in _walk(self.root_, X):
            proba[:, group.labels] *= positive[:, np.newaxis]
        return proba

    def _labels(self, X: Features) -> NDArray[np.int64]:
        predicted = np.ones((X.shape[0], self.n_labels_), dtype=np.int64)
        for group, positive in _walk(self.root_, X):
            predicted[:, group.labels] *= (positive >= 0.5)[:, np.newaxis]
        return predicted


def _walk(root: LabelGroup, X: Features) -> Iterator[tuple[LabelGroup, NDArray[np.floating]]]:
    """Go through all groups but the root, with the probabilities of their models."""
    for group in root.children:
        assert group.model is not None
        yield group, group.model.predict_proba(X)[:, 1]
        yield from _walk(group, X)
