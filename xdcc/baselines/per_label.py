"""What binary relevance and the classifier chain share: arguments, and the model of a label."""

import inspect
from abc import abstractmethod
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags, get_tags

from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.base.booster_parameters import settle_on_data
from xdcc.base.domains import Classifier, Either, Number
from xdcc.base.features import SparseZeros
from xdcc.base.fit_data import FitData
from xdcc.baselines.label_model import EstimatorModel, LabelModel, XGBModel
from xdcc.baselines.learner import seeded

_ENTRIES = {
    "learner": """
        estimator : scikit-learn classifier or None, default=None
            Base learner, copied for each label, with `predict_proba`; None is XGBoost with the
            arguments below. With another one they keep their defaults: set its own instead.
        n_estimators : int, default=100
            Number of boosting iterations per label.
        max_depth : int, default=6
            Largest depth of a tree; 0 is no limit.
        learning_rate : float, default=0.3
            Factor by which a tree's leaves are shrunk.
        """,
    "threads": """
        n_jobs : int or None, default=None
            Number of threads of XGBoost; None and -1 are all CPUs that the process may use, -2 is
            all but one, and so on. It does not change the model.
        """,
    "further_params": """
        **booster_params
            Further parameters of the booster, by these names:

            {booster_params}
        """,
    "notes": """
        Notes
        -----
        NaN in X is a missing value. With XGBoost, what a sparse X does not store is missing too,
        unless `sparse_zeros` says otherwise, and columns of pandas' type ``category`` are split by
        sets of categories; in prediction a category that did not occur in `fit` is missing. With
        another base learner what is not stored is 0, categories are refused, and missing values are
        its own affair.
        """,
}
"""What documentation says of both, besides what it says of all estimators."""


class PerLabelClassifier(BoosterEstimator):
    """A model for each label: XGBoost, or copies of a scikit-learn classifier."""

    _entries = MappingProxyType({**BoosterEstimator._entries, **_ENTRIES})
    _uses_plugin = False
    _missing: float
    """What stands for an absent value on the way to the models."""
    _domains = MappingProxyType(
        {
            **BoosterEstimator._domains,
            "estimator": Either(Classifier(), None),
            "n_estimators": Number(low=1, whole=True),
        }
    )

    def __init__(
        self,
        *,
        estimator: Any = None,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.3,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        sparse_zeros: SparseZeros = "missing",
        **booster_params: Any,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.sparse_zeros = sparse_zeros
        self._keep_booster_params(booster_params)

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train a model for each label.

        Parameters
        ----------
        {X}
        {Y}
        {sample_weight}

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
            # As most solvers of scikit-learn are meant to be fitted.
            data = data._replace(X=data.X.astype(np.float64))
        self._learn(data, model, random)
        return self

    def _n_label_features(self) -> int:
        """How many label features a model may see after those of X."""
        return 0

    @abstractmethod
    def _learn(self, data: FitData, model: LabelModel, random: np.random.RandomState) -> None:
        """Train on checked data; `model` is copied for every label."""

    @property
    def _takes_categories(self) -> bool:  # type: ignore[override]
        return self.estimator is None

    def _sparse_zeros(self) -> str | None:
        return self.sparse_zeros if self.estimator is None else None

    def __sklearn_tags__(self) -> Tags:
        """Tags: what the base learner takes."""
        tags = super().__sklearn_tags__()
        if Classifier().accepts(self.estimator):  # else XGBoost, or `fit` says what is wrong
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def _label_model(self, missing: float) -> tuple[LabelModel, np.random.RandomState]:
        """Check the arguments; make the model of a label, and what later draws come from."""
        params = self._native_booster_params()
        for name in ("base_score", "scale_pos_weight"):
            if isinstance(params.get(name), list):
                raise ValueError(f"{name} has to be one number here; it is used for every label.")
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
                f"{name}={value!r} is a parameter of XGBoost, which "
                f"estimator={self.estimator!r} replaces; set the estimator's own instead."
            )
