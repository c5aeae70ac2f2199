"""A dynamic chain of random decision trees, read with and without keeping the leaves of a row."""

from typing import Any

import numpy as np

from experiments.engine.registry import Labels, Method, Split, predicted_labels
from experiments.method_parts.base_learners import nominal_features
from xdcc.base.features import check_features
from xdcc.data import MultiLabelDataset
from xdcc.rdt import RandomDecisionTreeClassifier
from xdcc.rdt.forest import Weighting, read_forest


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> RandomDecisionTreeClassifier:
    return RandomDecisionTreeClassifier(
        categorical_features=nominal_features(train), random_state=seed, n_jobs=1, **params
    )


def _walked_again(model: RandomDecisionTreeClassifier, split: Split) -> Labels:
    """Walk every tree from its root in every iteration."""
    X, rows = check_features(model, split.X), np.arange(split.X.shape[0])
    known = np.full((len(rows), model.n_labels_), -1, np.int8)
    for _ in range(model.n_labels_):
        proba, _ = read_forest(
            model.forest_, X, Weighting(True, 0.0), sigma=1.0, known=known, n_threads=1
        )
        label = np.where(known < 0, np.abs(0.5 - proba), -1).argmax(axis=1)
        known[rows, label] = proba[rows, label] >= 0.5
    return known


METHOD = Method(
    title="dynamic chain of random decision trees, trees walked again in every iteration",
    reference="Kulessa and Loza Mencía, Discovery Science 2018",
    build=_build,
    params={"threshold": "probability"},
    readings={"leaves kept": predicted_labels, "walked again": _walked_again},
)
