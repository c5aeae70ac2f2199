"""mlrl-boomer, the C++ implementation of BOOMER by its authors."""

from typing import Any

import numpy as np

from experiments.engine.registry import Labels, Method, Split
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, n_rules: int, **params: Any) -> Any:
    from mlrl.boosting import BoomerClassifier

    return BoomerClassifier(random_state=seed, max_rules=n_rules, **params)


def _labels(model: Any, split: Split) -> Labels:
    return np.asarray(model.predict(split.X)).astype(np.int8)


METHOD = Method(
    title="mlrl-boomer",
    reference="Rapp, BOOMER — An algorithm for learning gradient boosted multi-output rules, 2021",
    build=_build,
    params={"n_rules": 1000},
    grid={"shrinkage": [0.1, 0.3, 0.5], "l2_regularization_weight": [0.0, 0.25, 1.0, 4.0, 16.0]},
    readings={"labels": _labels},
    requires=("mlrl",),
)
