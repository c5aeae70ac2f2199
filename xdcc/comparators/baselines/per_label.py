"""Base class of binary relevance and the classifier chain."""

import inspect
from abc import abstractmethod
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags, get_tags

from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.base.booster_parameters import settle_on_data
from xdcc.base.domains import Classifier, Either, Number
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.features import SparseZeros
from xdcc.base.fit_data import FitData
from xdcc.base.input_form import UnknownCategories
from xdcc.comparators.baselines.label_model import EstimatorModel, LabelModel, XGBModel
from xdcc.comparators.baselines.learner import seeded

_ENTRIES = {
    "learner": """
        estimator : scikit-learn classifier or None, default=None
            Base learner, copied for each label, with `predict_proba`; None is XGBoost with the
            parameters below. With a base learner, set the parameters of the base learner instead.
        n_estimators : int, default=100
            Number of boosting rounds for each label.
        max_depth : int, default=6
            Maximum depth of a tree; 0 means no limit.
        learning_rate : float, default=0.3
            Factor that shrinks the leaves of each tree.
        """,
    "threads": """
        n_jobs : int or None, default=None
            Number of threads of XGBoost; None and -1 mean all CPUs that the process may use, -2 all
            but one, and so on. It does not change the model.
        """,
    "further_params": """
        **booster_params
            Additional parameters of the booster:

            {booster_params}
        """,
    "notes": """
        Notes
        -----
        NaN in X is a missing value. With XGBoost, entries that a sparse X does not store are
        missing, too, unless ``sparse_zeros="zero"``; columns of pandas' dtype ``category`` are
        split by sets of categories. With a
        base learner, entries that a sparse X does not store are 0, categories are rejected, and
        missing values are passed to the base learner, which may reject them.
        """,
}
"""Docstring entries of both, in addition to those of all estimators."""


class PerLabelClassifier(BoosterEstimator, MultiLabelEstimator):
    """A model for each label: XGBoost, or copies of a scikit-learn classifier."""

    _entries = MappingProxyType(_ENTRIES)
    _uses_plugin = False
    _missing: float
    """Value that represents a missing one in the input of the models."""
    _domains = MappingProxyType(
        {
            **BoosterEstimator._domains,
            "estimator": Either(Classifier(), None),
            "n_estimators": Number(low=1, whole=True),
        }
    )

    estimator: Any = None
    n_estimators: int = 100
    max_depth: int = 6
    learning_rate: float = 0.3
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    unknown_categories: UnknownCategories = "separate"
    sparse_zeros: SparseZeros = "missing"

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train a model for each label.

        {takes_data}

        {returns_self}

        Raises
        ------
        ValueError
            If an argument is out of range or unknown, or the data are not as described.
        """
        self._check_params()
        model, random = self._label_model(self._missing)
        data = self._begin_fit(X, Y, sample_weight)
        if isinstance(model, XGBModel):
            further = self._n_label_features()
            model.params = settle_on_data(model.params, self, n_further=further)
            model.feature_types = data.feature_types
        else:
            # Most solvers of scikit-learn are designed for double precision.
            data = data._replace(X=data.X.astype(np.float64))
        self._learn(data, model, random)
        return self

    def _n_label_features(self) -> int:
        """Return the maximum number of labels among the features of a model."""
        return 0

    @abstractmethod
    def _learn(self, data: FitData, model: LabelModel, random: np.random.RandomState) -> None:
        """Train copies of `model` on checked data."""

    @property
    def _takes_categories(self) -> bool:  # type: ignore[override]
        return self.estimator is None

    def _sparse_zeros(self) -> SparseZeros | None:
        return self.sparse_zeros if self.estimator is None else None

    def __sklearn_tags__(self) -> Tags:
        """Tags: missing values and sparse X as for the base learner."""
        tags = super().__sklearn_tags__()
        if Classifier().accepts(self.estimator):  # otherwise XGBoost, or `fit` raises an error
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def _label_model(self, missing: float) -> tuple[LabelModel, np.random.RandomState]:
        """Check the parameters; return the model of a label and a random state."""
        params = self._native_booster_params()
        for name in ("base_score", "scale_pos_weight"):
            if isinstance(params.get(name), list):
                raise ValueError(f"{name} must be a number, which is used for all labels.")
        random = np.random.RandomState(params.get("seed", 0))
        if self.estimator is None:
            return XGBModel(params, self.n_estimators, missing), random
        self._check_booster_params_unused()
        return EstimatorModel(seeded(self.estimator, random), missing), random

    def _check_booster_params_unused(self) -> None:
        signature = inspect.signature(type(self).__init__).parameters
        named = ("n_estimators", "max_depth", "learning_rate", "n_jobs", "sparse_zeros")
        used = {n: getattr(self, n) for n in named if getattr(self, n) != signature[n].default}
        for name, value in (used | dict(self.booster_params)).items():
            raise ValueError(
                f"{name}={value!r} is a parameter of XGBoost, but estimator={self.estimator!r} "
                "replaces XGBoost; set the parameters of the estimator instead."
            )
