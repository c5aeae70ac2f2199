"""A forest of LaCovaC trees."""

from typing import Any

from experiments.engine.registry import Method
from experiments.method_parts.base_learners import nominal_features
from xdcc.data import MultiLabelDataset
from xdcc.lacovac import LaCovaCForestClassifier


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> LaCovaCForestClassifier:
    return LaCovaCForestClassifier(
        categorical_features=nominal_features(train), random_state=seed, n_jobs=1, **params
    )


METHOD = Method(
    title="forest of trees with label clusters by covariance",
    reference="this project; after Al-Otaibi, Kull, Flach, ECAI 2016",
    build=_build,
    params={"n_estimators": 25},
)
