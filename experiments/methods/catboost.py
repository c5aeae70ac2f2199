"""CatBoost with its loss for many labels, `MultiLogloss`."""

from typing import Any

import numpy as np

from experiments.engine.registry import Labels, Method, Split
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        loss_function="MultiLogloss",
        random_seed=seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        **params,
    )


def _labels(model: Any, split: Split) -> Labels:
    return np.asarray(model.predict(split.X), dtype=np.int8)


METHOD = Method(
    title="CatBoost with MultiLogloss",
    reference="Prokhorenkova et al., CatBoost: unbiased boosting with categorical features, 2018",
    build=_build,
    grid={"iterations": [50, 100, 200], "learning_rate": [0.1, 0.3], "depth": [4, 6]},
    readings={"labels": _labels},
    requires=("catboost",),
)
