"""BOOMER: gradient boosted rules for one or all labels, our version and the authors' in C++."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.engine.registry import DecisionRule, Labels, Method, Split, predicted_labels
from experiments.method_parts import log_loss, nominal_features
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.data import MultiLabelDataset

COUNTS = (50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000)
STAGES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)


def _boomer(train: MultiLabelDataset, seed: int, **params: Any) -> BoomerClassifier:
    nominal = nominal_features(train)
    return BoomerClassifier(categorical_features=nominal, random_state=seed, n_jobs=1, **params)


def _first_rules(model: BoomerClassifier, split: Split, number: int) -> Labels:
    return model.predict(split.X, n_rules=min(number, len(model.rules_)))


def _after_rules(model: BoomerClassifier, split: Split) -> Iterator[Labels]:
    yield from (_first_rules(model, split, k) for k in STAGES if k <= len(model.rules_))


DECISION_RULES: dict[str, DecisionRule] = {"labels": predicted_labels, "stages": _after_rules}
DECISION_RULES |= {f"{k} rules": partial(_first_rules, number=k) for k in COUNTS}


def _mlrl_boomer(
    train: MultiLabelDataset, seed: int, n_rules: int, nominal: bool = False, **params: Any
) -> Any:
    """With `nominal` the classifier receives the categorical features."""
    from mlrl.boosting import BoomerClassifier

    model = BoomerClassifier(random_state=seed, max_rules=n_rules, **params)
    if nominal:
        categories = np.flatnonzero(nominal_features(train)).tolist()
        model.fit = partial(model.fit, nominal_feature_indices=categories)
    return model


def _labels_mlrl_boomer(model: Any, split: Split) -> Labels:
    labels = model.predict(split.X)
    return np.asarray(labels.toarray() if sp.issparse(labels) else labels).astype(np.int8)


METHODS = {
    "boomer": Method(
        title="boosted multi-label rules",
        reference="Rapp, Loza Mencía, Fürnkranz, Nguyen, Hüllermeier, ECML PKDD 2020",
        build=_boomer,
        params={"n_rules": 1000, "loss": "logistic_example_wise", "head": "complete"},
        grid={"learning_rate": [0.1, 0.3, 0.5], "l2": [0.0, 0.25, 1.0, 4.0, 16.0, 64.0]},
        rules=DECISION_RULES,
        scores={"log_loss": log_loss},
    ),
    "mlrl_boomer": Method(
        title="mlrl-boomer",
        reference="Rapp, BOOMER — An algorithm for learning gradient boosted multi-output rules, "
        "2021",
        build=_mlrl_boomer,
        params={"n_rules": 1000},
        grid={
            "shrinkage": [0.1, 0.3, 0.5],
            "l2_regularization_weight": [0.0, 0.25, 1.0, 4.0, 16.0],
        },
        rules={"labels": _labels_mlrl_boomer},
        scores={"log_loss": log_loss},
        requires=("mlrl",),
    ),
}
