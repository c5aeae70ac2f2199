"""ML-XGB with out-of-fold calibration, rounds and decision rule, for a measure."""

from math import ceil
from typing import Any

from experiments.engine.registry import Method
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import MultiLabelDataset
from xdcc.decision import TunedDecisionClassifierCV


def _build(
    train: MultiLabelDataset, seed: int, measure: str, n_groups: int, **params: Any
) -> TunedDecisionClassifierCV:
    booster = MultiLabelXGBClassifier(
        labels_per_tree=ceil(train.n_labels / n_groups), random_state=seed, n_jobs=1, **params
    )
    return TunedDecisionClassifierCV(booster, measure=measure, random_state=seed)


METHOD = Method(
    title="a single multi-label booster, decided for a measure",
    reference="this project: xdcc.decision.TunedDecisionClassifierCV",
    build=_build,
    params={"measure": "example_f1", "n_estimators": 400, "max_bin": 64},
    grid={
        "learning_rate": [0.05, 0.1],
        "max_depth": [4, 6],
        "sketch_size": [0, 1, 2],
        "n_groups": [1, 2, 4],
    },
)
