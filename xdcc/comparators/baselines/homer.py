"""HOMER: a tree of label groups, with a binary model for each group.

The groups are clusters whose sizes differ by at most one, found by balanced k-means: Lloyd's
algorithm with a linear assignment of points to the slots of the clusters, which minimises the total
distance. The authors of HOMER insert the points one by one, and a full cluster passes on its
farthest point.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from xdcc.base.domains import Number
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.state_checks import check_indices, require
from xdcc.base.stored import learned, stored
from xdcc.comparators.baselines.label_model import EstimatorModel, LabelModel
from xdcc.comparators.baselines.learner import LearnerClassifier

_TOLERANCE = 1e-9
"""Smaller differences of total distances are rounding errors."""


@stored
@dataclass(frozen=True)
class LabelGroup:
    """A node of the hierarchy.

    The model, None for the root, predicts whether an instance has any label of the group, given
    that it has a label of the parent.
    """

    labels: NDArray[np.intp]
    children: tuple["LabelGroup", ...]  # empty for a single label
    model: LabelModel | None


@stored
@declares_parameters
class HOMER(LearnerClassifier):
    """Hierarchy of label groups (HOMER).

    Balanced k-means on the columns of Y divides the labels recursively down to single labels. The
    model of a node is trained on the instances that have a label of its parent. A label is
    predicted if all models on the path to it predict 1.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Base learner, with `predict_proba`; None is a decision tree.
    n_children : int, default=3
        Maximum number of children of a node.
    random_state : int, RandomState instance or None, default=None
        Seed for the clusters and the base learner; None is the seed 0.

    Attributes
    ----------
    root_ : LabelGroup
        The hierarchy.
    {fitted}

    Notes
    -----
    The probability of a label is the product of the probabilities on the path to it, so `predict`
    does not correspond to a threshold of 0.5. Clusters are found by linear assignment
    (:func:`xdcc.comparators.baselines.homer.balanced_k_means`).

    {missing_values}

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

    root_: LabelGroup = learned()

    def _check_state(self) -> None:
        super()._check_state()
        groups = [self.root_]
        for group in groups:
            groups.extend(group.children)
            check_indices(group.labels, self.n_labels_, "labels")
            require((group.model is None) == (group is self.root_), "model")

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
        """Train the children of a group on the instances that have a label of the group."""
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
        for group, positive in _traverse(self.root_, X):
            proba[:, group.labels] *= positive[:, np.newaxis]
        return proba

    def _labels(self, X: Features) -> NDArray[np.int64]:
        predicted = np.ones((X.shape[0], self.n_labels_), dtype=np.int64)
        for group, positive in _traverse(self.root_, X):
            predicted[:, group.labels] *= (positive >= 0.5)[:, np.newaxis]
        return predicted


def _traverse(root: LabelGroup, X: Features) -> Iterator[tuple[LabelGroup, NDArray[np.floating]]]:
    """Yield all groups except the root, with the probabilities of their models."""
    for group in root.children:
        assert group.model is not None
        yield group, group.model.predict_proba(X)[:, 1]
        yield from _traverse(group, X)


def balanced_k_means(
    points: NDArray[np.floating], n_clusters: int, random: np.random.RandomState
) -> NDArray[np.intp]:
    """Divide points (n_points, n_dimensions) into clusters whose sizes differ by at most one.

    The initial centres are random points. The result (n_points,) is a local minimum of the sum of
    squared distances to the means of the clusters.

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [0.2], [5.0]])
    >>> np.bincount(balanced_k_means(points, 2, np.random.RandomState(0)))
    array([2, 2])
    """
    n_points = len(points)
    slots = np.sort(np.arange(n_points) % n_clusters)  # the cluster of each slot
    centres = points[random.permutation(n_points)[:n_clusters]]
    clusters, least = slots, np.inf
    while True:
        distance = cdist(points, centres, "sqeuclidean")[:, slots]
        point, slot = linear_sum_assignment(distance)
        total = distance[point, slot].sum()
        if total >= least - _TOLERANCE:
            return clusters
        clusters, least = slots[slot], total
        centres = np.stack([points[clusters == k].mean(axis=0) for k in range(n_clusters)])
