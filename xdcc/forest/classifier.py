"""``SketchedExtraTreesClassifier``: extra trees that cost the same for few and many labels.

``fit`` brings X into columns (``columns.py``) and grows the trees (``forest.py``). What ``"auto"``
stands for is decided here, from the shape of the data.
"""

from numbers import Integral
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from xdcc.base.categories import categorical_mask
from xdcc.base.domains import Anything, Choice, Either, Number, Seed, Share, Switch, Threads
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import take_rows
from xdcc.base.threads import n_threads
from xdcc.forest import _sketched_growing
from xdcc.forest.columns import FeatureColumns, feature_columns
from xdcc.forest.forest import Forest, TreeShape, grow_forest, label_rows, mean_proba


@declares_parameters
class SketchedExtraTreesClassifier(MultiLabelEstimator):
    """Extra trees that search their splits on random projections of the labels.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    {n_jobs}

    Attributes
    ----------
    forest_ : Forest
        The trees.
    {fitted}
    {categories}
    """

    _takes_categories = True
    _domains = MappingProxyType(
        {
            "n_estimators": Number(low=1, whole=True),
            "max_features": Either(
                Choice(("auto", "sqrt", "log2")), Number(low=1, whole=True), Share(), None
            ),
            "min_samples_leaf": Either(Choice(("auto",)), Number(low=1, whole=True)),
            "sketch_size": Either(Choice(("auto",)), Number(low=1, whole=True), None),
            "max_samples": Either(Share(), None),
            "oob_proba": Switch(),
            "categorical_features": Anything(),
            "random_state": Seed(),
            "n_jobs": Threads(),
        }
    )

    n_estimators: int = 200
    max_features: Literal["auto", "sqrt", "log2"] | float | None = "auto"
    min_samples_leaf: Literal["auto"] | int = "auto"
    sketch_size: Literal["auto"] | int | None = "auto"
    max_samples: float | None = None
    oob_proba: bool = False
    categorical_features: ArrayLike | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees."""
        data = self._begin_fit(X, Y, sample_weight)
        categorical = categorical_mask(
            self.n_features_in_, data.feature_types, self.categorical_features
        )
        rows, weight, labels = data.X, data.sample_weight, data.Y
        if weight is not None:
            counts = np.flatnonzero(weight)
            rows, labels, weight = take_rows(rows, counts), labels[counts], weight[counts]
        random = check_random_state(self.random_state)
        seeds = random.randint(2**63, size=self.n_estimators, dtype=np.uint64)
        threads = n_threads(self.n_jobs)
        columns = feature_columns(rows, categorical)
        shape = self._shape(columns, len(labels))
        self.forest_: Forest = grow_forest(
            columns, label_rows(labels, weight), shape, seeds, threads
        )
        if self.oob_proba:
            in_sample = _sketched_growing.samples(len(labels), shape.n_sampled, seeds)
            self.oob_proba_ = mean_proba(self.forest_, rows, threads, in_sample)
        return self

    def _shape(self, columns: FeatureColumns, n_rows: int) -> TreeShape:
        n_features, n_dense = len(columns.feature), len(columns.dense)
        n_drawn = self._n_drawn(n_features)
        min_samples_leaf = 1 if self.min_samples_leaf == "auto" else self.min_samples_leaf
        sketch_size = 1 if self.sketch_size == "auto" else (self.sketch_size or 0)
        share = 1.0 if self.max_samples is None else self.max_samples
        return TreeShape(
            max(1, round(share * n_rows)),
            round(n_drawn * n_dense / n_features),
            n_drawn / n_features,
            min_samples_leaf,
            sketch_size,
        )

    def _n_drawn(self, n_features: int) -> int:
        value = self.max_features
        if value is None:
            return n_features
        if value in ("sqrt", "auto"):
            return max(1, int(np.sqrt(n_features)))
        if value == "log2":
            return max(1, int(np.log2(n_features)))
        if isinstance(value, Integral):
            return min(int(value), n_features)
        return max(1, int(float(value) * n_features))

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return mean_proba(self.forest_, X, n_threads(self.n_jobs))
