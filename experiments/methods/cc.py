"""Classifier chain: one XGBoost model per label, which sees the labels before it."""

from typing import Any

from experiments.engine.registry import Method
from experiments.method_parts.scores import log_loss
from xdcc.baselines import ClassifierChain
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> ClassifierChain:
    return ClassifierChain(random_state=seed, n_jobs=1, **params)


METHOD = Method(
    title="classifier chain with default XGBoost, random order",
    reference="Read, Pfahringer, Holmes, Frank, Classifier chains for multi-label classification, "
    "Machine Learning 85, 2011",
    build=_build,
    params={"order": "random"},
    grid={
        "n_estimators": [10, 20, 50, 100],
        "learning_rate": [0.1, 0.2, 0.3],
        "max_depth": [5, 10, 20, 50, 100],
    },
    scores={"log_loss": log_loss},
)
