"""``BaseLabelTrees``: base class of the tree and the forest."""

from abc import abstractmethod
from types import MappingProxyType
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.categories import categorical_mask
from xdcc.base.checks import check_all_known
from xdcc.base.domains import Anything, Choice, Either, Number
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.fit_data import FitData
from xdcc.base.input_form import UnknownCategories
from xdcc.base.threads import n_threads
from xdcc.comparators.lacovac.tree import (
    Clustering,
    Criterion,
    GrowthRules,
    LabelTrees,
    ThresholdSize,
    grow_trees,
)

_PARAMETERS = {
    "splitting": """
        criterion : {"covariance", "variance", "gain_ratio"}, default="covariance"
            Score of a horizontal split. ``"covariance"`` (LaCovaC, LaCova) takes, for each child,
            the smaller of its summed label variances and its summed absolute label covariances
            (sample estimates), weighted by its instances; the split with the lowest sum wins. With
            a single varying label, it takes the variance. ``"variance"`` uses the variances alone
            (Gini impurity), ``"gain_ratio"`` the gain ratio of the summed label entropies (ML-C4.5)
            among features whose gain is at least the average.
        clustering : {"single_linkage", "all_or_none"} or None, default="single_linkage"
            With ``"single_linkage"``, labels whose absolute phi is above λ are in the same cluster
            (Algorithm 2). With ``"all_or_none"`` (LaCova), all labels stay together if the sum of
            absolute covariances is significantly larger than for independent labels; otherwise each
            label gets a subtree of its own. With None, there are no vertical splits.
        threshold_size : {"node", "train"}, default="node"
            Number of instances n in λ = 1.96/√(n - 1) (equation 2): those of the node, or all.
        """,
    "size": """
        max_depth : int or None, default=None
            Maximum number of horizontal splits on a path; None means no limit.
        max_leaf_nodes : int or None, default=None
            Maximum number of leaves. A larger tree is pruned, weakest link first. None means no
            limit.
        min_samples_split : int, default=6
            Minimum number of instances of a node that is split, vertically or horizontally.
        """,
    "leaves": """
        ccp_alpha : float, default=0.0
            Cost-complexity pruning removes a horizontal split if its subtree lowers the summed
            label variances, weighted by the node's share of instances, by less than this value per
            additional estimate (a label in a leaf).
        smoothing : float, default=0.0
            `predict_proba` adds this number s to the positive and to the negative instances of a
            label in a leaf: (n₁ + s)/(n + 2s) instead of n₁/n. With 1, it is Laplace's rule.
        categorical_features : array-like of bool or int, or None, default=None
            Nominal features, as a mask of shape (n_features,) or positions. A split has a branch
            for each category with at least `min_samples_leaf` instances. DataFrame columns of dtype
            ``category`` are always nominal.
        """,
}
"""Docstring entries of the parameters that the tree and the forest share."""


@declares_parameters
class BaseLabelTrees(MultiLabelEstimator):
    """Base class of a tree and a forest, with the default parameters of `LaCovaCClassifier`."""

    _entries = MappingProxyType(_PARAMETERS)
    _takes_categories = True
    _domains = MappingProxyType(
        {
            "criterion": Choice(get_args(Criterion)),
            "clustering": Either(Choice(get_args(Clustering)), None),
            "threshold_size": Choice(get_args(ThresholdSize)),
            "max_depth": Either(Number(low=0, whole=True), None),
            "max_leaf_nodes": Either(Number(low=1, whole=True), None),
            "min_samples_split": Number(low=2, whole=True),
            "min_samples_leaf": Number(low=1, whole=True),
            "ccp_alpha": Number(low=0),
            "smoothing": Number(low=0),
            "categorical_features": Anything(),
        }
    )

    criterion: Criterion = "covariance"
    clustering: Clustering | None = "single_linkage"
    threshold_size: ThresholdSize = "node"
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 6
    min_samples_leaf: int = 5
    ccp_alpha: float = 0.0
    smoothing: float = 0.0
    categorical_features: ArrayLike | None = None
    n_jobs: int | None = None
    unknown_categories: UnknownCategories = "separate"

    def fit(self, X: Any, Y: Any) -> Self:
        """Grow trees.

        {takes_X_and_known_Y}

        {returns_self}

        {raises_if_unknown}
        """
        data = self._begin_fit(X, Y)
        check_all_known(self, data.Y, "label trees")
        self._grow(data)
        return self

    @abstractmethod
    def _grow(self, data: FitData) -> None:
        """Grow trees from checked data."""

    def _trees(
        self,
        data: FitData,
        rows: NDArray[np.int32],
        seeds: NDArray[np.uint64],
        max_features: int = 0,
    ) -> LabelTrees:
        """Grow a tree for each row of `rows` (n_trees, n_rows)."""
        categorical = categorical_mask(
            self.n_features_in_, data.feature_types, self.categorical_features
        )
        rules = GrowthRules(
            self.criterion,
            self.clustering,
            self.threshold_size,
            self.max_depth,
            self.min_samples_split,
            self.min_samples_leaf,
            self.ccp_alpha,
            self.max_leaf_nodes,
            max_features,
        )
        return grow_trees(data.X, data.Y, categorical, rules, rows, seeds, self._n_threads())

    def _n_threads(self) -> int:
        return n_threads(self.n_jobs)
