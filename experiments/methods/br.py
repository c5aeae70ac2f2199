"""Binary relevance: one XGBoost model per label."""

from typing import Any

from experiments.engine.registry import Method
from experiments.method_parts.scores import log_loss
from xdcc.baselines import BinaryRelevance
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> BinaryRelevance:
    return BinaryRelevance(random_state=seed, n_jobs=1, **params)


METHOD = Method(
    title="binary relevance with default XGBoost",
    reference="Tsoumakas and Katakis, Multi-label classification: an overview, 2007",
    build=_build,
    grid={
        "n_estimators": [10, 20, 50, 100],
        "learning_rate": [0.1, 0.2, 0.3],
        "max_depth": [5, 10, 20, 50, 100],
    },
    scores={"log_loss": log_loss},
)
