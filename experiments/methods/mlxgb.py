"""ML-XGB: one XGBoost model whose trees serve all labels."""

from typing import Any

from experiments.engine.registry import Method
from experiments.method_parts.base_learners import BOOSTER_GRID
from experiments.method_parts.readings import probability_readings
from experiments.method_parts.scores import log_loss
from xdcc.base.booster_parameters import SPLIT_METHODS
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(random_state=seed, n_jobs=1, **params)


METHOD = Method(
    title="a single multi-label booster",
    reference="Bohlender, Loza Mencía, Kulessa, Extreme Gradient Boosted Multi-label Trees for "
    "Dynamic Classifier Chains, Discovery Science 2020, section 3.1",
    build=_build,
    grid=BOOSTER_GRID | {"split_method": list(SPLIT_METHODS)},
    readings=probability_readings(),
    scores={"log_loss": log_loss},
)
