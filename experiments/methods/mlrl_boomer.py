"""mlrl-boomer, the C++ implementation of BOOMER by its authors."""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.engine.registry import Labels, Method, Split
from experiments.method_parts.base_learners import nominal_features
from xdcc.data import MultiLabelDataset


def _build(
    train: MultiLabelDataset, seed: int, n_rules: int, nominal: bool = False, **params: Any
) -> Any:
    """With `nominal` it is told which features are categories."""
    from mlrl.boosting import BoomerClassifier

    model = BoomerClassifier(random_state=seed, max_rules=n_rules, **params)
    if nominal:
        categories = np.flatnonzero(nominal_features(train)).tolist()
        model.fit = partial(model.fit, nominal_feature_indices=categories)
    return model


def _labels(model: Any, split: Split) -> Labels:
    labels = model.predict(split.X)
    return np.asarray(labels.toarray() if sp.issparse(labels) else labels).astype(np.int8)


METHOD = Method(
    title="mlrl-boomer",
    reference="Rapp, BOOMER — An algorithm for learning gradient boosted multi-output rules, 2021",
    build=_build,
    params={"n_rules": 1000},
    grid={"shrinkage": [0.1, 0.3, 0.5], "l2_regularization_weight": [0.0, 0.25, 1.0, 4.0, 16.0]},
    readings={"labels": _labels},
    requires=("mlrl",),
)
