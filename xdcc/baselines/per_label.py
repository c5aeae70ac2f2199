"""What binary relevance and the classifier chain share: arguments, and the model of a label."""

import inspect
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.utils import Tags, get_tags

from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.base.domains import Anything, Number
from xdcc.base.fit_data import FitData
from xdcc.baselines.estimator_model import EstimatorModel
from xdcc.baselines.label_model import LabelModel
from xdcc.baselines.learner import seeded
from xdcc.baselines.xgb_model import XGBModel


class PerLabelClassifier(BoosterEstimator):
    """A model for each label: XGBoost, or copies of a scikit-learn classifier."""

    _uses_plugin = False
    _domains = MappingProxyType(
        {"estimator": Anything(), "n_estimators": Number(low=1, whole=True)}
    )

    def __init__(
        self,
        *,
        estimator: Any,
        n_estimators: int,
        max_depth: int,
        learning_rate: float,
        random_state: int | np.random.RandomState | None,
        n_jobs: int | None,
        booster_params: dict[str, Any],
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self._keep_booster_params(booster_params)

    @property
    def _takes_categories(self) -> bool:  # type: ignore[override]
        return self.estimator is None

    def __sklearn_tags__(self) -> Tags:
        """Tags: what the base learner takes."""
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def _label_model(self, missing: float) -> tuple[LabelModel, np.random.RandomState]:
        """Check the arguments; make the model of a label, and what later draws come from."""
        params = self._native_booster_params()
        if isinstance(params.get("base_score"), list):
            raise ValueError("base_score has to be one number here; it is used for every label.")
        self._check_params()
        random = np.random.RandomState(params.get("seed", 0))
        if self.estimator is None:
            return XGBModel(params, self.n_estimators, missing), random
        self._check_booster_params_unused()
        return EstimatorModel(seeded(self.estimator, random), missing), random

    @staticmethod
    def _for_learner(model: LabelModel, data: FitData) -> FitData:
        """Tell XGBoost what the features are; double precision for another learner."""
        if isinstance(model, XGBModel):
            model.feature_types = data.feature_types
            return data
        return data._replace(X=data.X.astype(np.float64))

    def _check_booster_params_unused(self) -> None:
        signature = inspect.signature(type(self).__init__).parameters
        named = ("n_estimators", "max_depth", "learning_rate", "n_jobs")
        used = {n: getattr(self, n) for n in named if getattr(self, n) != signature[n].default}
        for name, value in (used | dict(self.booster_params)).items():
            raise ValueError(
                f"{name}={value!r} is a parameter of XGBoost, which "
                f"estimator={self.estimator!r} replaces; set the estimator's own instead."
            )
