"""LightGBM per label, by scikit-learn's multi-output classifier."""

from typing import Any

from sklearn.multioutput import MultiOutputClassifier

from experiments.engine.registry import Method
from experiments.method_parts.scores import log_loss
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> MultiOutputClassifier:
    from lightgbm import LGBMClassifier

    return MultiOutputClassifier(LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1, **params))


METHOD = Method(
    title="LightGBM, one model per label",
    reference="Ke et al., LightGBM: A Highly Efficient Gradient Boosting Decision Tree, 2017",
    build=_build,
    grid={
        "n_estimators": [20, 50, 100],
        "learning_rate": [0.1, 0.2, 0.3],
        "num_leaves": [15, 31, 63],
        "min_child_samples": [5, 20],
    },
    scores={"log_loss": log_loss},
    requires=("lightgbm",),
)
