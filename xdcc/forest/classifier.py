"""``SketchedExtraTreesClassifier``: extra trees that cost the same for few and many labels.

``fit`` brings X into columns (``columns.py``) and grows the trees (``forest.py``). What ``"auto"``
stands for is decided here, from the shape of the data.
"""

from dataclasses import field
from functools import partial
from itertools import chain
from numbers import Integral
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from xdcc.base.categories import categorical_mask
from xdcc.base.contributions import Contributions
from xdcc.base.domains import Anything, Choice, Either, Number, Share, Switch
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData, take_rows
from xdcc.base.folds import Folds, OutOfFold, OutOfTime, ShouldEnd
from xdcc.base.importance import LabelImportances
from xdcc.base.input_form import UnknownCategories
from xdcc.base.labels import Labels
from xdcc.base.seeds import generator_from
from xdcc.base.side_by_side import n_at_once, run_all, side_by_side
from xdcc.base.state_checks import check_indices
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import OPTIONAL, Of, Shape
from xdcc.base.threads import n_threads
from xdcc.base.weights import row_weights
from xdcc.base.workers import from_all
from xdcc.forest import _sketched_growing
from xdcc.forest.columns import CategoryBins, are_sparse, feature_columns
from xdcc.forest.contributions import forest_contributions
from xdcc.forest.flat import add_forest
from xdcc.forest.forest import (
    ExtraTrees,
    MemoryNeed,
    TreeShape,
    grow_forest,
    join,
    label_rows,
    mean_proba,
    share_of_trees,
    smoothed_margins,
)
from xdcc.forest.importance import impurity_decrease
from xdcc.prediction.builder import LayoutBuilder

_OOB_SAMPLES = 0.632
"""Share of rows in a tree's sample if some are to be out of it: as many as a bootstrap finds."""


class _Plan(NamedTuple):
    """How a forest grows on some rows."""

    categorical: NDArray[np.bool_]  # (n_features,), whether a feature is discrete
    is_sparse: NDArray[np.bool_]  # (n_features,)
    shape: TreeShape
    memory: MemoryNeed


@stored
@declares_parameters
class SketchedExtraTreesClassifier(LabelImportances, MultiLabelEstimator):
    """Extra trees that search their splits on random projections of the labels.

    Extremely randomised trees (Geurts, Ernst and Wehenkel, 2006) draw features and one threshold
    for each at every node, and take the best of these splits. Here the best split is the one that
    most lowers the variance of a few random projections of the labels, which are drawn anew for
    each tree. So the search costs the same for 10 labels and for 1,000. Leaves know the values of
    all labels, and probabilities are the mean frequencies of the labels in the leaves.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default="auto"
        Number of features that a node draws: the root or the logarithm of the number of features,
        a number, a share of them in (0, 1], or all (None). ``"auto"`` is a third if more than half
        of the features are sparse (see Notes), and twice the root otherwise.
    min_samples_leaf : int or "auto", default="auto"
        Fewest training rows of a leaf. ``"auto"`` is 3 if more than half of the features are sparse
        and there are at least 500 rows, 2 if there are fewer than 200 rows, and 1 otherwise.
    sketch_size : int, None or "auto", default="auto"
        Number of random projections of the labels on which a tree searches its splits; with None
        it searches on all labels, as other extra trees do. ``"auto"`` is None for up to 8 labels,
        8 for more if more than half of the features are sparse, and 4 otherwise.
    max_samples : float or None, default=None
        Share of the rows that a tree grows on, drawn without replacement. None is all rows; with
        `oob_proba` it is 0.632.
    oob_proba : bool, default=False
        Whether to compute `oob_proba_` in `fit`.
    soft_labels : bool, default=False
        Whether Y may hold probabilities: a label y is present in a share y of the row's weight.
    max_bin : int, default=255
        Most bins into which the values of a feature that is not sparse are divided, up to 255.
    categorical_features : array-like of bool or int, or None, default=None
        Discrete features, as a mask of shape (n_features,) or positions. A test of a discrete
        feature divides its values into two random sets. Columns of the type ``category`` of a
        DataFrame are discrete anyway.
    random_state : int, RandomState instance or None, default=None
        Seed of the trees; None is the seed 0.
    {n_jobs}
    {unknown_categories}

    Attributes
    ----------
    forest_ : ExtraTrees
        The trees.
    oob_proba_ : float64 array of shape (n_samples, n_labels)
        With `oob_proba`: for each training row the probabilities by the trees that did not grow on
        it. Rows of weight 0 are predicted by all trees.
    {fitted}
    {categories}

    Notes
    -----
    NaN in X is a missing value; what a sparse X does not store is 0. A split sends missing values
    to a random side, and those that the node did not have in training with most of its rows.

    A feature is sparse if it is a number and differs from 0 in at most a fifth of the rows. Each
    tree draws one threshold for such a feature, between the least and the largest value, instead
    of one at each node: the feature is binary in the tree. For features with two values nothing
    changes by it.

    `max_features` counts features that are constant in a node, as scikit-learn does; more are drawn
    if all of them are.

    Unknown labels (NaN in Y) count for nothing: neither in the search of splits, where they are
    taken as the mean, nor in the frequencies.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel, Extremely randomized trees, Machine Learning 63, 2006.

    L. Iosipoi and A. Vakhrushev, SketchBoost: fast gradient boosted decision tree for multioutput
    problems, NeurIPS 2022, for sketches of many outputs in boosting.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.SketchedExtraTreesClassifier(n_estimators=50, random_state=0)
    >>> model.fit(data.X, data.Y).predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 1]])
    """

    _takes_categories = True
    _takes_entry_weights = True
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
            "soft_labels": Switch(),
            "max_bin": Number(low=2, high=255, whole=True),
            "categorical_features": Anything(),
        }
    )

    n_estimators: int = field(default=200, kw_only=False)
    max_features: Literal["auto", "sqrt", "log2"] | float | None = "auto"
    min_samples_leaf: Literal["auto"] | int = "auto"
    sketch_size: Literal["auto"] | int | None = "auto"
    max_samples: float | None = None
    oob_proba: bool = False
    soft_labels: bool = False
    max_bin: int = 255
    categorical_features: ArrayLike | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    unknown_categories: UnknownCategories = "separate"

    forest_: Annotated[ExtraTrees, Of(n_labels="n_labels_")] = learned()
    oob_proba_: Annotated[NDArray[np.float64], Shape(None, "n_labels_"), OPTIONAL] = learned()

    def _check_state(self) -> None:
        super()._check_state()
        check_indices(self.forest_.tested_features, self.n_features_in_, "feature")

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        {takes_data}

        {returns_self}

        Raises
        ------
        ValueError
            If a parameter is outside its domain, X, Y or the weights are not as described, or
            out-of-bag probabilities are asked of trees that grow on all rows.
        MemoryError
            If this many trees may take more memory than is available. It is estimated before any of
            them grows.
        """
        data = self._begin_fit(X, Y, sample_weight)
        if self.oob_proba and self.max_samples == 1:
            raise ValueError(
                "oob_proba=True with max_samples=1.0: no row is outside a tree's sample. "
                "max_samples must be below 1, or None for the default."
            )
        random = generator_from(self.random_state)
        threads = n_threads(self.n_jobs)
        rows, labels, weight = data.X, data.Y, data.sample_weight
        counts = np.arange(len(labels))
        if weight is not None:
            counts = np.flatnonzero(row_weights(weight))
            rows, labels, weight = take_rows(rows, counts), labels[counts], weight[counts]
        categorical, is_sparse, shape, memory = self._plan(rows, labels, data.feature_types)
        memory.require(f"{self.n_estimators} trees of {shape.n_sampled} rows")
        categories = CategoryBins.of(rows, categorical, self.max_bin)
        of_labels = label_rows(labels, weight)
        own = share_of_trees(self.n_estimators, len(labels))
        seeds = random.randint(2**63, size=self.n_estimators, dtype=np.uint64)
        grown = []
        if len(seeds[own]):
            columns = feature_columns(rows, is_sparse, categories, self.max_bin, threads)
            grown = [grow_forest(columns, of_labels, shape, seeds[own], threads)]
        forest = join(list(chain.from_iterable(from_all(grown))))
        self.forest_ = forest
        if self.oob_proba:
            in_sample = np.zeros((len(seeds), len(data.Y)), np.uint8)
            in_sample[:, counts] = _sketched_growing.samples(len(labels), shape.n_sampled, seeds)
            self.oob_proba_ = mean_proba(forest, data.X, threads, in_sample)
        elif hasattr(self, "oob_proba_"):
            del self.oob_proba_
        return self

    def _label_gains(self) -> NDArray[np.float64]:
        """Sum up how much the tests of each feature lower the Gini impurity of each label."""
        return impurity_decrease(self.forest_, self.n_features_in_)

    def _out_of_fold(
        self, data: FitData, folds: Folds, *, should_end: ShouldEnd | None = None
    ) -> OutOfFold:
        """Grow a forest without each fold, each from seeds of its own, on checked data."""
        random = generator_from(self.random_state)
        margins = np.full(data.Y.shape, np.nan)
        seeds = [random.randint(2**31 - 1) for _ in range(folds.n_folds)]

        def grow(fold: int) -> Any:
            if should_end is not None and should_end(fold):
                raise OutOfTime
            model = clone(self).set_params(random_state=seeds[fold], oob_proba=False)
            model._fit_checked(data.part(np.flatnonzero(folds.trains(fold))))
            rows = folds.tests(fold)
            margins[rows] = model._margins(take_rows(data.X, rows))
            return model

        with side_by_side(self.n_jobs):
            memory = self._plan(data.X, data.Y, data.feature_types).memory
            n_forests, at_once = folds.n_folds, min(folds.n_folds, n_at_once())
            memory.require(f"{n_forests} forests of {self.n_estimators} trees", n_forests, at_once)
            models = run_all([partial(grow, fold) for fold in range(folds.n_folds)])
        return OutOfFold(margins, models, clone(self))

    def _memory_of_folds(self, data: FitData, n_folds: int) -> float:
        """Estimate the bytes that a forest of each fold takes, at most."""
        return self._plan(data.X, data.Y, data.feature_types).memory.total(
            n_folds, min(n_folds, n_at_once())
        )

    def _plan(self, X: Features, Y: Labels, feature_types: list[str] | None) -> _Plan:
        """Say how trees grow on checked rows, and estimate what memory they take."""
        categorical = categorical_mask(X.shape[1], feature_types, self.categorical_features)
        is_sparse = are_sparse(X, categorical)
        shape = self._shape(is_sparse, *Y.shape)
        own, n_sparse = share_of_trees(self.n_estimators, len(Y)), int(is_sparse.sum())
        n_trees, threads = own.stop - own.start, n_threads(self.n_jobs)
        memory = MemoryNeed.of(shape, n_trees, X, Y.shape[1], n_sparse, threads)
        return _Plan(categorical, is_sparse, shape, memory)

    def _shape(self, is_sparse_feature: NDArray[np.bool_], n_rows: int, n_labels: int) -> TreeShape:
        n_features = len(is_sparse_feature)
        n_dense = n_features - int(is_sparse_feature.sum())
        is_sparse = 2 * n_dense < n_features
        n_drawn = self._n_drawn(n_features, is_sparse=is_sparse)
        share = self.max_samples
        if share is None:
            share = _OOB_SAMPLES if self.oob_proba else 1.0
        n_sampled = max(1, round(share * n_rows))
        return TreeShape(
            min(n_sampled, max(1, n_rows - 1)) if self.oob_proba else n_sampled,
            round(n_drawn * n_dense / n_features),
            n_drawn / n_features,
            self._leaf_size(n_rows, is_sparse=is_sparse),
            self._n_projections(n_labels, is_sparse=is_sparse),
        )

    def _leaf_size(self, n_rows: int, *, is_sparse: bool) -> int:
        if self.min_samples_leaf != "auto":
            return self.min_samples_leaf
        if is_sparse:
            return 3 if n_rows >= 500 else 1
        return 2 if n_rows < 200 else 1

    def _n_projections(self, n_labels: int, *, is_sparse: bool) -> int:
        """Size of a tree's sketch; 0 is all labels."""
        if self.sketch_size == "auto":
            return 0 if n_labels <= 8 else 8 if is_sparse else 4
        return self.sketch_size or 0

    def _n_drawn(self, n_features: int, *, is_sparse: bool) -> int:
        value = self.max_features
        if value is None:
            return n_features
        if value == "auto":
            value = 1 / 3 if is_sparse else min(n_features, 2 * int(np.sqrt(n_features)))
        if value == "sqrt":
            return max(1, int(np.sqrt(n_features)))
        if value == "log2":
            return max(1, int(np.log2(n_features)))
        if isinstance(value, Integral):
            return min(int(value), n_features)
        return max(1, int(float(value) * n_features))

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return mean_proba(self.forest_, X, n_threads(self.n_jobs))

    def _margins(self, X: Features) -> NDArray[np.float64]:
        return smoothed_margins(self.forest_, self._proba(X))

    def _add_to(self, builder: LayoutBuilder) -> None:
        add_forest(builder, self.forest_, getattr(self, "categories_", {}))

    def _contributions(self, X: Features) -> Contributions:
        return forest_contributions(self.forest_, X, n_threads(self.n_jobs))
