"""Statistics of a data set, for the papers' tables; this is not a method and predicts no labels."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from experiments.engine.registry import Labels, Method, Split
from xdcc.data import MultiLabelDataset


class _Statistics(BaseEstimator):
    def fit(self, X: Any, Y: Any) -> None:
        pass


def _build(train: MultiLabelDataset, seed: int) -> _Statistics:
    return _Statistics()


def _no_label(model: _Statistics, split: Split) -> Labels:
    return np.zeros((split.X.shape[0], split.train.n_labels), dtype=np.int8)


METHOD = Method(
    title="no label; statistics of the data",
    reference="Tsoumakas and Katakis, 2007 (cardinality and density)",
    build=_build,
    rules={"labels": _no_label},
    scores={
        "n_rows": lambda _, split, Y: len(split.train),
        "n_nominal": lambda _, split, Y: split.train.feature_types.count("nominal"),
        "n_numeric": lambda _, split, Y: split.train.feature_types.count("numeric"),
        "n_features": lambda _, split, Y: len(split.train.feature_types),
        "n_labels": lambda _, split, Y: split.train.n_labels,
        "cardinality": lambda _, split, Y: split.train.cardinality,
        "density": lambda _, split, Y: split.train.density,
        "n_labelsets": lambda _, split, Y: split.train.n_labelsets,
    },
)
