"""``BaseLabelTrees``: what the tree and the forest share: parameters, checks, how fit begins."""

from abc import abstractmethod
from types import MappingProxyType
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.categories import categorical_mask
from xdcc.base.domains import Anything, Choice, Either, Number, Threads
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.fit_data import FitData, check_all_known
from xdcc.kernels.threads import n_threads
from xdcc.lacovac.tree import (
    Clustering,
    Criterion,
    GrowthRules,
    LabelTrees,
    ThresholdSize,
    grow_trees,
)


class BaseLabelTrees(MultiLabelEstimator):
    """A tree or a forest: `LaCovaCClassifier` describes the parameters and has their defaults.

    A subclass says in `_grow` which trees it wants.
    """

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
            "n_jobs": Threads(),
        }
    )

    criterion: Criterion
    clustering: Clustering | None
    threshold_size: ThresholdSize
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_split: int
    min_samples_leaf: int
    ccp_alpha: float
    smoothing: float
    categorical_features: ArrayLike | None
    n_jobs: int | None

    def __init__(
        self,
        *,
        criterion: Criterion = "covariance",
        clustering: Clustering | None = "single_linkage",
        threshold_size: ThresholdSize = "node",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int = 6,
        min_samples_leaf: int = 5,
        ccp_alpha: float = 0.0,
        smoothing: float = 0.0,
        categorical_features: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.clustering = clustering
        self.threshold_size = threshold_size
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def fit(self, X: Any, Y: Any) -> Self:
        """Grow trees.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers, and categories in a DataFrame; NaN is a missing value.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            Zeros and ones; one dimension is a single label.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, or X or Y is not as described; an unknown label
            (NaN) is refused, since leaves count instances by all their labels.
        """
        data = self._begin_fit(X, Y)
        check_all_known(self, data.Y, "label trees")
        categorical = categorical_mask(
            self.n_features_in_, data.feature_types, self.categorical_features
        )
        self._grow(data, categorical)
        return self

    @abstractmethod
    def _grow(self, data: FitData, categorical: NDArray[np.bool_]) -> None:
        """Grow trees from checked data."""

    def _trees(
        self,
        data: FitData,
        categorical: NDArray[np.bool_],
        rows: NDArray[np.int32],
        seeds: NDArray[np.uint64],
        max_features: int = 0,
    ) -> LabelTrees:
        """Grow a tree for each list of rows."""
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
